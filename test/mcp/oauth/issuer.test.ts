import { once } from 'node:events';
import { createServer } from 'node:net';
import { decodeProtectedHeader } from 'jose';
import { expect, onTestFinished, test, vi } from 'vitest';
import { fetchKeys, IssuerKeys } from '../../../src/mcp/oauth/issuer.ts';
import { emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { startHttp } from '../../support/http-process.ts';
import { askAs, type Issuer, startIssuer } from '../../support/issuer.ts';

const failed = (issuer: string): Promise<Error & { hint: string; retryAfterMs: number }> =>
  fetchKeys(issuer).then(
    () => expect.unreachable(),
    (error) => error,
  );

test('the metadata is looked for in the places of the specification, one after another', async () => {
  const nowhere = await startIssuer();
  nowhere.intercept = (_, response) => Boolean(response.writeHead(404).end());
  await failed(`${nowhere.issuer}/tenant/one`);
  expect(nowhere.asked).toEqual([
    '/.well-known/oauth-authorization-server/tenant/one',
    '/.well-known/openid-configuration/tenant/one',
    '/tenant/one/.well-known/openid-configuration',
  ]);
  nowhere.asked.length = 0;
  const { message } = await failed(`${nowhere.issuer}/`);
  expect(nowhere.asked).toEqual(['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']);
  expect(message).toBe(
    `The token issuer ${nowhere.issuer}/ cannot be asked for its keys: ${nowhere.issuer}/.well-known/oauth-authorization-server answered with status 404.`,
  );
});

test.each([
  '/.well-known/oauth-authorization-server/tenant',
  '/.well-known/openid-configuration/tenant',
  '/tenant/.well-known/openid-configuration',
])('an issuer that is found at %s', async (place) => {
  const server = await startIssuer('/tenant');
  server.intercept = ({ url }, response) => {
    if (!url?.includes('.well-known')) return false;
    if (url === place) response.end(JSON.stringify({ issuer: server.issuer, jwks_uri: `${server.issuer}/keys` }));
    // A page for everything that is not there.
    else response.end('<!doctype html>');
    return true;
  };
  expect(await fetchKeys(server.issuer)).toMatchObject({ address: `${server.issuer}/keys`, count: 1 });
});

test('what an issuer does wrong is said', async () => {
  const server = await startIssuer();
  const { issuer } = server;
  const at = `${issuer}/.well-known/oauth-authorization-server`;
  const cases: [object | string, string][] = [
    [{ issuer: `${issuer}/`, jwks_uri: `${issuer}/keys` }, `${at} belongs to the issuer "${issuer}/"`],
    [{ jwks_uri: `${issuer}/keys` }, `${at} belongs to the issuer undefined`],
    [{ issuer }, 'its metadata has no usable jwks_uri'],
    [{ issuer, jwks_uri: 'file:///etc/passwd' }, 'its metadata has no usable jwks_uri'],
    [{ issuer, jwks_uri: at }, `${at} is no JSON Web Key Set`],
    [{ issuer, jwks_uri: `${issuer}/none` }, `${issuer}/none answered with status 404`],
    ['<html>', `${at} is not JSON`],
    ['null', `${at} is not JSON`],
  ];
  for (const [metadata, reason] of cases) {
    server.intercept = ({ url }, response) => {
      if (!url?.includes('oauth-authorization-server')) return false;
      response.end(typeof metadata === 'string' ? metadata : JSON.stringify(metadata));
      return true;
    };
    const { message } = await failed(issuer);
    expect(message).toBe(`The token issuer ${issuer} cannot be asked for its keys: ${reason}.`);
  }
  server.intercept = (_, response) => Boolean(response.writeHead(302, { location: `${issuer}/elsewhere` }).end());
  expect((await failed(issuer)).message).toContain(`${at} answered with status 302`);
  server.asked.length = 0;
  server.intercept = (_, response) => Boolean(response.writeHead(500).end());
  expect((await failed(issuer)).message).toContain(`${at} answered with status 500`);
  expect(server.asked).toHaveLength(1);
});

test('while the issuer cannot be asked the answer is 503, and it goes on by itself', async () => {
  const server = await startIssuer();
  await server.stop();
  const { url, output } = await startHttp(['--oauth-issuer', server.issuer]);
  const token = await server.token({ aud: url });
  const answer = await askAs(url, token);
  expect(answer).toMatchObject({
    status: 503,
    headers: { 'retry-after': '5' },
    body: '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Service unavailable: the issuer of access tokens cannot be asked for its keys"},"id":null}',
  });
  expect(answer.headers).not.toHaveProperty('www-authenticate');
  expect(output.stderr).toContain('ECONNREFUSED');
  expect(output.stderr).toContain(server.issuer);
  await server.resume();
  await expect.poll(async () => (await askAs(url, token)).status, { timeout: 20_000, interval: 200 }).toBe(200);
});

test('an issuer that says nothing costs a bounded time', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as { port: number };
  expect((await failed(`http://127.0.0.1:${port}`)).message).toContain('no answer within 5000 ms');
});

test('a new key of the issuer is taken up without a restart, and a withdrawn one no longer counts', async () => {
  const server = await startIssuer();
  const { url } = await startHttp(['--oauth-issuer', server.issuer]);
  const before = await server.token({ aud: url });
  expect((await askAs(url, before)).status).toBe(200);
  await server.rotate('second');
  const after = await server.token({ aud: url });
  expect((await askAs(url, after)).status).toBe(200);
  // The issuer has just been asked twice: whether the key is a newer one still, nobody knows.
  const undecided = await askAs(url, before);
  expect([undecided.status, undecided.headers['retry-after']]).toEqual([503, '5']);
  expect((await askAs(url, after)).status).toBe(200);
});

/** What becomes of a token by the keys of an issuer. */
async function outcome(keys: IssuerKeys, server: Issuer, kid = server.keys[0]!.kid): Promise<string> {
  const header = decodeProtectedHeader(await server.token({}, { kid }));
  return keys.find(header as { alg: string }).then(
    () => 'found',
    ({ code }: { code: string }) => code,
  );
}

test('unknown keys make it ask twice in five seconds at most', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const server = await startIssuer();
  const keys = new IssuerKeys(server.issuer, () => {});
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => outcome(keys, server, `k${index}`)));
  expect(new Set(outcomes)).toEqual(new Set(['ERR_JWKS_NO_MATCHING_KEY']));
  for (let index = 0; index < 20; index++) await outcome(keys, server, 'none');
  const rounds = () => server.asked.filter((path) => path === '/keys').length;
  expect(rounds()).toBe(2);
  vi.setSystemTime(Date.now() + 5_000);
  for (let index = 0; index < 20; index++) await outcome(keys, server, 'none');
  expect(rounds()).toBe(4);
});

test('a forged key does not make a token with a new key a bad one', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const server = await startIssuer();
  const keys = new IssuerKeys(server.issuer, () => {});
  expect(await outcome(keys, server, 'forged')).toBe('ERR_JWKS_NO_MATCHING_KEY');
  await server.rotate('second');
  expect(await outcome(keys, server)).toBe('service_unavailable');
  vi.setSystemTime(Date.now() + 5_000);
  expect(await outcome(keys, server)).toBe('found');
});

test('known keys outlive a failure of the issuer for an hour, and are fetched anew beside the work', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const server = await startIssuer();
  const log: string[] = [];
  const keys = new IssuerKeys(server.issuer, (level, message) => log.push(`${level} ${message}`));
  expect(await outcome(keys, server)).toBe('found');

  await server.stop();
  vi.setSystemTime(Date.now() + 11 * 60_000);
  expect(await outcome(keys, server)).toBe('found');
  await expect.poll(() => log).toEqual(['error no keys from the token issuer']);
  // Whether it is a new one only the issuer could say.
  expect(await outcome(keys, server, 'new')).toBe('service_unavailable');
  expect(await outcome(keys, server)).toBe('found');
  vi.setSystemTime(Date.now() + 50 * 60_000);
  expect(await outcome(keys, server)).toBe('service_unavailable');

  await server.resume();
  vi.setSystemTime(Date.now() + 5_000);
  expect(await outcome(keys, server)).toBe('found');
  await server.rotate('second');
  vi.setSystemTime(Date.now() + 11 * 60_000);
  expect(await outcome(keys, server, 'first')).toBe('found');
  await expect.poll(() => outcome(keys, server, 'first')).toBe('ERR_JWKS_NO_MATCHING_KEY');
});

test('doctor asks the issuer for its keys', async () => {
  const server = await startIssuer();
  const examine = async () => {
    const environment = emptyHome(temporaryFolder(), { HEDDLE_OAUTH_ISSUER: server.issuer });
    const { stdout } = await run(['doctor', '--json'], environment);
    const { findings } = JSON.parse(stdout) as { findings: { check: string }[] };
    return findings.find(({ check }) => check === 'token issuer');
  };
  expect(await examine()).toEqual({
    check: 'token issuer',
    state: 'ok',
    message: `${server.issuer} publishes its keys at ${server.issuer}/keys, 1 in all`,
  });
  await server.stop();
  expect(await examine()).toMatchObject({
    state: 'failure',
    message: expect.stringContaining('cannot be asked for its keys'),
    advice: 'Check that the issuer runs, and can be reached from here.',
  });
});
