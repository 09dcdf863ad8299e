import { pipeline, Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { decodeProtectedHeader } from 'jose';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HttpClient } from '../../../src/core/http/http-client.ts';
import { fetchKeys, issuerKeys } from '../../../src/mcp/oauth/issuer-keys.ts';
import { emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { startHttp } from '../../support/http-server.ts';
import { askAs, type Issuer, startIssuer } from '../../support/issuer.ts';
import { startRecordingProxy } from '../../support/recording-proxy.ts';

const failureOf = (issuer: string): Promise<Error & { hint: string; code: string; retryAfterMs: number }> =>
  fetchKeys(issuer).then(
    () => expect.unreachable(),
    (error) => error,
  );

describe('fetchKeys', () => {
  it('tries the metadata addresses of the MCP specification in order', async () => {
    const server = await startIssuer();
    server.intercept = (_, response) => Boolean(response.writeHead(404).end());
    await failureOf(`${server.issuer}/tenant/one`);
    expect(server.asked).toEqual([
      '/.well-known/oauth-authorization-server/tenant/one',
      '/.well-known/openid-configuration/tenant/one',
      '/tenant/one/.well-known/openid-configuration',
    ]);
    server.asked.length = 0;
    const failure = await failureOf(`${server.issuer}/`);
    expect(failure).toMatchObject({ code: 'bad_response', retryable: true });
    expect(server.asked).toEqual(['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']);
    expect(failure.message).toBe(
      `Cannot fetch the keys of the token issuer ${server.issuer}/: ${server.issuer}/.well-known/oauth-authorization-server responded with status 404.`,
    );
  });

  it('takes the proxy for the address of the issuer, and names it when it fails', async () => {
    const [proxy, issuer] = [await startRecordingProxy(), 'https://issuer.example'];
    proxy.refusal = 403;
    const httpClient = new HttpClient({ proxies: { httpsProxy: proxy.url } });
    await expect(fetchKeys(issuer, httpClient)).rejects.toMatchObject({
      code: 'service_unavailable',
      message: expect.stringMatching(`: the proxy ${proxy.url} failed: .*403`),
    });
    expect(proxy.requestLines).toEqual(['CONNECT issuer.example:443 -']);
  });

  it.each([
    '/.well-known/oauth-authorization-server/tenant',
    '/.well-known/openid-configuration/tenant',
    '/tenant/.well-known/openid-configuration',
  ])('finds the metadata at %s', async (place) => {
    const server = await startIssuer('/tenant');
    server.intercept = ({ url }, response) => {
      if (!url?.includes('.well-known')) return false;
      if (url === place) response.end(JSON.stringify({ issuer: server.issuer, jwks_uri: `${server.issuer}/keys` }));
      // Some servers send a page for every unknown address.
      else response.end('<!doctype html>');
      return true;
    };
    expect(await fetchKeys(server.issuer)).toEqual({
      address: `${server.issuer}/keys`,
      keys: { keys: [{ ...server.keys[0], kid: 'first' }] },
    });
  });

  it('reports what is wrong with the metadata or the keys', async () => {
    const server = await startIssuer();
    const { issuer } = server;
    const at = `${issuer}/.well-known/oauth-authorization-server`;
    const cases: [object | string, string][] = [
      [{ issuer: `${issuer}/`, jwks_uri: `${issuer}/keys` }, `${at} belongs to the issuer "${issuer}/"`],
      [{ jwks_uri: `${issuer}/keys` }, `${at} belongs to the issuer undefined`],
      [{ issuer }, 'its metadata has no usable jwks_uri'],
      [{ issuer, jwks_uri: 'file:///etc/passwd' }, 'its metadata has no usable jwks_uri'],
      [{ issuer, jwks_uri: at }, `${at} is not a JSON Web Key Set`],
      [{ issuer, jwks_uri: `${issuer}/none` }, `${issuer}/none responded with status 404`],
      ['<html>', `${at} is not JSON`],
      ['null', `${at} is not JSON`],
    ];
    for (const [metadata, reason] of cases) {
      server.intercept = ({ url }, response) => {
        if (!url?.includes('oauth-authorization-server')) return false;
        response.end(typeof metadata === 'string' ? metadata : JSON.stringify(metadata));
        return true;
      };
      const { code, message } = await failureOf(issuer);
      expect([code, message]).toEqual([
        'bad_response',
        `Cannot fetch the keys of the token issuer ${issuer}: ${reason}.`,
      ]);
    }
  });

  it('reports metadata of another issuer rather than an address without metadata', async () => {
    const server = await startIssuer();
    const { issuer } = server;
    const at = `${issuer}/.well-known/openid-configuration`;
    server.intercept = ({ url }, response) => {
      if (url !== '/.well-known/openid-configuration') return Boolean(response.writeHead(404).end());
      response.end(JSON.stringify({ issuer: `${issuer}/`, jwks_uri: `${issuer}/keys` }));
      return true;
    };
    expect((await failureOf(issuer)).message).toBe(
      `Cannot fetch the keys of the token issuer ${issuer}: ${at} belongs to the issuer "${issuer}/".`,
    );
  });

  it.each([
    ['metadata', '/.well-known/', 'without end', {}],
    ['metadata', '/.well-known/', 'that is small until it is decompressed', { 'content-encoding': 'gzip' }],
    ['keys', '/keys', 'without end', {}],
  ])('reads no more than 1 MiB of %s at %s %s', async (_, place, _how, headers: Record<string, string>) => {
    const server = await startIssuer();
    let sentBytes = 0;
    let closed = 0;
    server.intercept = ({ url }, response) => {
      if (!url?.startsWith(place)) return false;
      response.writeHead(200, { 'content-type': 'application/json', ...headers });
      response.once('close', () => (closed += 1));
      if (headers['content-encoding']) response.end(gzipSync(Buffer.alloc(8 * 1024 * 1024, ' ')));
      else {
        const chunk = Buffer.alloc(64 * 1024, ' ');
        const endless = new Readable({
          read() {
            sentBytes += chunk.length;
            this.push(chunk);
          },
        });
        pipeline(endless, response, () => {});
      }
      return true;
    };
    const { code, message } = await failureOf(server.issuer);
    expect([code, message]).toEqual([
      'bad_response',
      expect.stringContaining('responded with more than 1048576 bytes.'),
    ]);
    await expect.poll(() => closed).toBe(server.asked.filter((url) => url.startsWith(place)).length);
    // What the sockets hold was sent too, but is not read.
    expect(sentBytes).toBeLessThan(64 * 1024 * 1024);
  });

  it('follows no redirect', async () => {
    const server = await startIssuer();
    server.intercept = (_, response) =>
      Boolean(response.writeHead(302, { location: `${server.issuer}/elsewhere` }).end());
    expect((await failureOf(server.issuer)).message).toContain(
      `${server.issuer}/.well-known/oauth-authorization-server responded with status 302`,
    );
  });

  it('tries no further address after a server error', async () => {
    const server = await startIssuer();
    server.intercept = (_, response) => Boolean(response.writeHead(500).end());
    expect((await failureOf(server.issuer)).message).toContain(
      `${server.issuer}/.well-known/oauth-authorization-server responded with status 500`,
    );
    expect(server.asked).toHaveLength(1);
  });

  it('gives up on an issuer that never responds, or never ends a response', async () => {
    const expiry = new AbortController();
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(expiry.signal);
    onTestFinished(() => timeout.mockRestore());
    const [silent, slow] = await Promise.all([startIssuer(), startIssuer()]);
    silent.intercept = () => true;
    slow.intercept = (_, response) => Boolean(response.writeHead(200).write(' '));
    const failures = Promise.all([silent, slow].map(({ issuer }) => failureOf(issuer)));
    await expect.poll(() => [silent, slow].map(({ asked }) => asked.length)).toEqual([1, 1]);
    expiry.abort();
    expect(timeout.mock.calls).toEqual([[5_000], [5_000]]);
    for (const failure of await failures) {
      expect(failure).toMatchObject({
        code: 'service_unavailable',
        message: expect.stringContaining('no response within 5000 ms'),
      });
    }
  });
});

/** Resolves the key of a token with `kid`, to `found` or the code of the error. */
async function outcome(
  keys: ReturnType<typeof issuerKeys>,
  server: Issuer,
  kid = server.keys[0]!.kid,
): Promise<string> {
  const header = decodeProtectedHeader(await server.token({}, { kid })) as { alg: string };
  return Promise.resolve(keys(header, { payload: '', signature: '' })).then(
    () => 'found',
    ({ code }: { code: string }) => code,
  );
}

function fakeClock(): { advance: (ms: number) => void } {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  return { advance: (ms) => void vi.setSystemTime(Date.now() + ms) };
}

describe('issuerKeys', () => {
  it('fetches the keys once for many unknown keys, and again only after five seconds', async () => {
    const clock = fakeClock();
    const server = await startIssuer();
    const keys = issuerKeys(server.issuer, () => {});
    const downloads = () => server.asked.filter((path) => path === '/keys').length;
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => outcome(keys, server, `k${index}`)));
    for (let index = 0; index < 20; index++) outcomes.push(await outcome(keys, server, 'none'));
    expect(new Set(outcomes)).toEqual(new Set(['ERR_JWKS_NO_MATCHING_KEY']));
    expect(downloads()).toBe(1);
    clock.advance(5_000);
    for (let index = 0; index < 20; index++) await outcome(keys, server, 'none');
    expect(downloads()).toBe(2);
  });

  it('finds a new key five seconds after the last download, whatever forged keys arrive', async () => {
    const clock = fakeClock();
    const server = await startIssuer();
    const keys = issuerKeys(server.issuer, () => {});
    expect(await outcome(keys, server, 'forged')).toBe('ERR_JWKS_NO_MATCHING_KEY');
    await server.rotate('second');
    for (let second = 1; second < 5; second++) {
      clock.advance(1_000);
      expect(await outcome(keys, server, 'forged')).toBe('ERR_JWKS_NO_MATCHING_KEY');
    }
    clock.advance(1_000);
    expect(await outcome(keys, server)).toBe('found');
  });

  it('keeps known keys for an hour while the issuer is down', async () => {
    const clock = fakeClock();
    const server = await startIssuer();
    const log: string[] = [];
    const keys = issuerKeys(server.issuer, (level, message) => log.push(`${level} ${message}`));
    expect(await outcome(keys, server)).toBe('found');

    await server.stop();
    clock.advance(11 * 60_000);
    expect(await outcome(keys, server)).toBe('found');
    await expect.poll(() => log).toEqual(['error no keys from the token issuer']);
    // Only the issuer could tell whether this key is new.
    expect(await outcome(keys, server, 'new')).toBe('service_unavailable');
    expect(await outcome(keys, server)).toBe('found');
    clock.advance(50 * 60_000);
    expect(await outcome(keys, server)).toBe('service_unavailable');

    await server.resume();
    expect(await outcome(keys, server)).toBe('found');
  });

  it('drops a withdrawn key with the next refresh after ten minutes', async () => {
    const clock = fakeClock();
    const server = await startIssuer();
    const keys = issuerKeys(server.issuer, () => {});
    expect(await outcome(keys, server)).toBe('found');
    await server.rotate('second');
    clock.advance(9 * 60_000);
    expect(await outcome(keys, server, 'first')).toBe('found');
    clock.advance(2 * 60_000);
    // The refresh runs in the background, so this token does not wait for it.
    expect(await outcome(keys, server, 'first')).toBe('found');
    await expect.poll(() => outcome(keys, server, 'first')).toBe('ERR_JWKS_NO_MATCHING_KEY');
  });
});

describe('serve --http --oauth-issuer', () => {
  it('responds with 503 while the issuer is down, and recovers without a restart', async () => {
    const server = await startIssuer();
    const { url, output } = await startHttp(['--oauth-issuer', server.issuer]);
    // If the issuer stopped first, heddle might be given its port.
    await server.stop();
    const token = await server.token({ aud: url });
    const response = await askAs(url, token);
    expect(response).toMatchObject({
      status: 503,
      headers: { 'retry-after': '5' },
      body: '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Service unavailable: the keys of the token issuer cannot be fetched"},"id":null}',
    });
    expect(response.headers).not.toHaveProperty('www-authenticate');
    expect(output.stderr).toContain('ECONNREFUSED');
    expect(output.stderr).toContain(server.issuer);
    await server.resume();
    expect((await askAs(url, token)).status).toBe(200);
  });

  it('accepts tokens of a new key without a restart', async () => {
    const clock = fakeClock();
    const server = await startIssuer();
    const { url } = await startHttp(['--oauth-issuer', server.issuer]);
    const before = await server.token({ aud: url });
    expect((await askAs(url, before)).status).toBe(200);
    await server.rotate('second');
    const after = await server.token({ aud: url });
    expect((await askAs(url, after)).status).toBe(401);
    clock.advance(5_000);
    expect((await askAs(url, after)).status).toBe(200);
    const withdrawn = await askAs(url, before);
    expect(withdrawn.status).toBe(401);
    expect(withdrawn.body).toContain('is signed with a key that its issuer does not have');
  });
});

describe('doctor', () => {
  it('fetches the keys of the token issuer', async () => {
    const server = await startIssuer();
    const environment = emptyHome(temporaryFolder(), { HEDDLE_OAUTH_ISSUER: server.issuer });
    const examine = async () => {
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
      message: expect.stringContaining('Cannot fetch the keys of the token issuer'),
      advice: 'Check that the issuer is running and reachable from here.',
    });
  });
});
