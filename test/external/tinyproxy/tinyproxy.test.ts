import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startFakeService } from '../../support/fake-service.ts';
import { freePort } from '../../support/free-port.ts';
import { emptyHome, run, runProcess, standIn, temporaryFolder } from '../../support/heddle.ts';
import { requireProgram } from '../../support/require-program.ts';
import { selfSigned } from '../../support/self-signed.ts';
import { accepts } from '../../support/start-nginx.ts';
import { startToolProcess, startToolServer } from '../../support/tool-server.ts';

const hasTinyproxy = requireProgram('tinyproxy', 'tinyproxy', 'apt-get install tinyproxy');

const listQueues = ['list_queues', { project_id: 'a/b' }] as const;

interface Proxy {
  /** Its address with the user name and the password that it requires. */
  url: string;
  /** Its address without them. */
  origin: string;
  /** Returns the request lines that it has logged. */
  requestLines: () => string[];
}

/** Starts tinyproxy, which requires a user name and a password, and opens tunnels to `ports` only if they are given. */
async function startTinyproxy(ports: number[] = []): Promise<Proxy> {
  const port = await freePort();
  const folder = temporaryFolder();
  const [configuration, log] = [join(folder, 'tinyproxy.conf'), join(folder, 'log')];
  const lines = [
    `Port ${port}`,
    'Listen 127.0.0.1',
    'Allow 127.0.0.1',
    'BasicAuth ada pass-of-proxy',
    `LogFile "${log}"`,
    'LogLevel Connect',
    ...ports.map((port) => `ConnectPort ${port}`),
  ];
  writeFileSync(configuration, `${lines.join('\n')}\n`);
  const child = spawn('tinyproxy', ['-d', '-c', configuration], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const logged = (): string => readFileSync(log, { encoding: 'utf8', flag: 'a+' });
  const origin = `http://127.0.0.1:${port}`;
  await expect.poll(() => accepts(new URL(origin))).toBe(true);
  return {
    url: origin.replace('//', '//ada:pass-of-proxy@'),
    origin,
    requestLines: () => [...logged().matchAll(/Request \(file descriptor \d+\): (.*) HTTP/g)].map((match) => match[1]!),
  };
}

/** Starts a service, and returns an address of this machine for it that takes a proxy. */
async function startService({ isSecure = false } = {}) {
  const service = await startFakeService(isSecure ? { certificate: selfSigned } : {});
  return { service, url: service.url.replace('127.0.0.1', '0.0.0.0'), host: `0.0.0.0:${service.port}` };
}

/** Writes the certificate of {@link startService} to a file. */
function authorityFile(): string {
  const file = join(temporaryFolder(), 'authority.pem');
  writeFileSync(file, selfSigned.cert);
  return file;
}

describe.skipIf(!hasTinyproxy)('tinyproxy', () => {
  it('passes tool calls to a service with http on', async () => {
    const [proxy, { service, url }] = [await startTinyproxy(), await startService()];
    const { call, log } = await startToolServer(url, { HTTP_PROXY: proxy.url, HEDDLE_LOG_LEVEL: 'debug' });
    expect(await call(...listQueues)).toMatchObject({ code: 'ok' });
    expect(proxy.requestLines()).toEqual(['query', 'stats'].map((name) => `POST ${url}/annotation_queues/${name}`));
    expect(service.requests[0]!.headers).not.toHaveProperty('proxy-authorization');
    expect(log()).not.toContain('pass-of-proxy');
  });

  it('opens tunnels for tool calls to a service with https, whose certificate is checked', async () => {
    const [proxy, { service, url, host }] = [await startTinyproxy(), await startService({ isSecure: true })];
    const trusting = { NODE_EXTRA_CA_CERTS: authorityFile() };
    const server = await startToolProcess(url, { https_proxy: proxy.url, ...trusting });
    for (const _ of [1, 2]) expect(await server.call(...listQueues)).toMatchObject({ code: 'ok' });
    expect(new Set(proxy.requestLines())).toEqual(new Set([`CONNECT ${host}`]));
    expect(service.requests).toHaveLength(4);

    const distrusting = await startToolServer(url, { HTTPS_PROXY: proxy.url });
    const { code, hint, message } = await distrusting.call(...listQueues);
    expect([code, message]).toEqual(['network', expect.stringContaining(`, through the proxy ${proxy.origin}`)]);
    expect(hint).toContain('NODE_EXTRA_CA_CERTS');
  });

  it('passes a streamed reply on', async () => {
    const [proxy, { url }] = [await startTinyproxy(), await startService()];
    const { call } = await startToolServer(url, { HTTP_PROXY: proxy.url });
    const messages = [{ role: 'user', content: 'Hi' }];
    expect(await call('run_inference', { model: 'm', messages, stream: true })).toMatchObject({ code: 'ok' });
    expect(proxy.requestLines()).toEqual([`POST ${url}/inference/v1/chat/completions`]);
  });

  it('is not used for hosts in NO_PROXY, nor for this machine', async () => {
    const [proxy, { service, url }] = [await startTinyproxy(), await startService()];
    for (const [address, noProxy] of [
      [url, '0.0.0.0'],
      [service.url, ''],
    ] as const) {
      const { call } = await startToolServer(address, { HTTP_PROXY: proxy.url, NO_PROXY: noProxy });
      expect(await call(...listQueues)).toMatchObject({ code: 'ok' });
    }
    expect(proxy.requestLines()).toEqual([]);
  });

  it.each(['http', 'https'])('is named by the error when it requires a password, for %s', async (scheme) => {
    const [{ origin }, { service, host }] = [await startTinyproxy(), await startService()];
    const { call } = await startToolServer(`${scheme}://${host}`, { HTTP_PROXY: origin, HTTPS_PROXY: origin });
    const outcome = await call(...listQueues);
    expect(outcome).toMatchObject({ code: 'network', retryable: true });
    expect(outcome.message).toMatch(new RegExp(`: the proxy ${origin} failed: .*407`));
    expect(outcome.hint).toContain('Ask the user to check HTTPS_PROXY, or HTTP_PROXY for an http address');
    expect(service.requests).toEqual([]);
  });

  // tinyproxy refuses wrong credentials with the status of servers.
  it.each([
    ['http', 'unauthorized', 'status 401, on POST /annotation_queues/query through the proxy ORIGIN', 'HTTP_PROXY'],
    ['https', 'network', ': the proxy ORIGIN failed: Proxy response (401)', 'HTTPS_PROXY'],
  ])('is named by the error when it rejects the password, for %s', async (scheme, code, message, variable) => {
    const [proxy, { service, host }] = [await startTinyproxy(), await startService()];
    const wrong = proxy.url.replace('pass-of-proxy', 'wrong-password');
    const { call, log } = await startToolServer(`${scheme}://${host}`, { HTTP_PROXY: wrong, HTTPS_PROXY: wrong });
    const outcome = await call(...listQueues);
    expect([outcome.code, outcome.message]).toEqual([
      code,
      expect.stringContaining(message.replace('ORIGIN', proxy.origin)),
    ]);
    expect(outcome.hint).toContain(variable);
    expect(JSON.stringify(outcome) + log()).not.toContain('wrong-password');
    expect(service.requests).toEqual([]);
  });

  it('is named by the error when it does not allow the port, and the request is repeated, since it was never sent', async () => {
    const [proxy, { host }] = [await startTinyproxy([443]), await startService()];
    const { call } = await startToolServer(`https://${host}`, { HTTPS_PROXY: proxy.url });
    const messages = [{ role: 'user', content: 'Hi' }];
    const { code, message } = await call('run_inference', { model: 'm', messages });
    expect([code, message]).toEqual(['network', expect.stringMatching(`: the proxy ${proxy.origin} failed: .*403`)]);
    expect(proxy.requestLines()).toEqual([`CONNECT ${host}`, `CONNECT ${host}`, `CONNECT ${host}`]);
  });

  it('is named by the error when it does not reach the service', async () => {
    const proxy = await startTinyproxy();
    const host = `0.0.0.0:${await freePort()}`;
    const { call } = await startToolServer(`https://${host}`, { HTTPS_PROXY: proxy.url });
    expect((await call(...listQueues)).message).toContain(`: the proxy ${proxy.origin} failed: `);
    const plain = await startToolServer(`http://${host}`, { HTTP_PROXY: proxy.url });
    const { message, hint } = await plain.call(...listQueues);
    expect(message).toContain(` through the proxy ${proxy.origin}`);
    expect(hint).toContain('Or the proxy sent this in place of the service');
  });

  it('is named by `heddle doctor`, and checked in place of the service', async () => {
    const [proxy, { url }] = [await startTinyproxy(), await startService({ isSecure: true })];
    const secrets = { HEDDLE_USERNAME: 'user', HEDDLE_PASSWORD: 'password-of-user', HEDDLE_PROJECT: 'a/b' };
    const environment = emptyHome(temporaryFolder(), { HEDDLE_BASE_URL: url, HTTPS_PROXY: proxy.url, ...secrets });
    const trusting = await runProcess(['doctor', '--json'], { ...environment, NODE_EXTRA_CA_CERTS: authorityFile() });
    const found = JSON.parse(trusting.stdout).findings as { check: string; state: string; message: string }[];
    const network = found.filter(({ check }) => /^(proxy|DNS|TCP|TLS|HTTP|query_queue_items)/.test(check));
    expect(network.map(({ check, state, message }) => [check, state, message])).toEqual([
      ['proxy', 'ok', `${proxy.origin} from HTTPS_PROXY is used for ${url}`],
      ['TCP', 'ok', `connected to 127.0.0.1, port ${new URL(proxy.origin).port}`],
      ['TLS', 'ok', expect.stringMatching(/^TLSv1\.3, certificate issued by localhost, valid for \d+ more days$/)],
      ['HTTP', 'ok', expect.stringMatching(/^the address responds, in \d+ ms$/)],
      ['query_queue_items (Basic)', 'ok', 'the service accepts the credentials'],
    ]);

    const wrong = { ...environment, HTTPS_PROXY: proxy.url.replace('pass-of-proxy', 'wrong-password') };
    const { stdout, code } = await run(['doctor'], wrong, '', standIn);
    expect(code).toBe(1);
    expect(stdout).toContain(`the proxy ${proxy.origin} failed: Proxy response (401)`);
    expect(stdout).not.toContain('wrong-password');
  });
});
