import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { version } from '../../../core/version.ts';
import { remoteConnection } from '../../../runtime/runtime.ts';
import type { Credentials } from '../../../settings/secrets/credentials.ts';
import type { SettingValues } from '../../../settings/settings.ts';
import { isLacking, openProbes, type Verdict } from '../../support/probes.ts';
import { type Finding, failure, ok, warning } from './doctor.ts';

/** Longest that each layer may take, in milliseconds. */
const layerTimeoutMs = 5_000;
/** Difference between this clock and the service's that is worth a word, in seconds. */
const clockSkew = 60;
/** Remaining life of a certificate that is worth a word, in days. */
const certificateDays = 14;

/** DNS, TCP, TLS and HTTP apart from each other, the clock, then each operation. Ends at the first layer that fails. */
export async function* checkService(
  baseUrl: string,
  credentials: Credentials,
  values: SettingValues,
): AsyncGenerator<Finding> {
  const url = new URL(baseUrl);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const layers: [string, () => Promise<Finding[]>, string][] = [
    ['DNS', () => resolveName(host), 'Check the host name in the base URL, and the name server of this network.'],
    ['TCP', () => reachPort(host, port), 'Check the port in the base URL, and firewalls between here and there.'],
    [
      'TLS',
      () => (url.protocol === 'https:' ? secure(host, port) : Promise.resolve([])),
      'Check the base URL; a private issuer is trusted with NODE_EXTRA_CA_CERTS, which is set where heddle is started.',
    ],
    ['HTTP', () => talk(baseUrl), 'Check that the base URL is the API of the service, and not of something else.'],
  ];
  for (const [check, run, advice] of layers) {
    try {
      yield* await run();
    } catch (error) {
      yield failure(check, describe(error), advice);
      return;
    }
  }
  yield* checkOperations(baseUrl, credentials, values);
}

async function resolveName(host: string): Promise<Finding[]> {
  if (isIP(host)) return [];
  const addresses = await lookup(host, { all: true });
  return [ok('DNS', `${host} is ${addresses.map(({ address }) => address).join(', ')}`)];
}

async function reachPort(host: string, port: number): Promise<Finding[]> {
  const startedAt = performance.now();
  const socket = connectTcp({ host, port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(layerTimeoutMs) });
    return [ok('TCP', `port ${port} answers in ${since(startedAt)} ms`)];
  } finally {
    socket.destroy();
  }
}

async function secure(host: string, port: number): Promise<Finding[]> {
  const socket = connectTls({ host, port, ...(isIP(host) ? {} : { servername: host }) });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(layerTimeoutMs) });
    const { valid_to, issuer } = socket.getPeerCertificate();
    const days = Math.floor((Date.parse(valid_to) - Date.now()) / 86_400_000);
    const says = `${socket.getProtocol()}, certificate of ${issuer.O ?? issuer.CN} for ${days} more days`;
    return [days >= certificateDays ? ok('TLS', says) : warning('TLS', says, 'Tell whoever runs the service.')];
  } finally {
    socket.destroy();
  }
}

/** One request without credentials. Any answer shows that HTTP works; its Date shows the service's clock. */
async function talk(baseUrl: string): Promise<Finding[]> {
  const startedAt = performance.now();
  const send = baseUrl.startsWith('https:') ? requestTls : requestPlain;
  const sent = send(baseUrl, { agent: false, headers: { 'user-agent': `heddle/${version}` } }).end();
  sent.setTimeout(layerTimeoutMs, () => sent.destroy(new Error(`no answer within ${layerTimeoutMs} ms`)));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  sent.destroy();
  const { statusCode: status = 0, headers } = answer;
  const says = `status ${status} in ${since(startedAt)} ms`;
  const redirected = status >= 300 && status < 400;
  const advice = 'Redirects are not followed with credentials: set the base URL to where the service really is.';
  return [redirected ? warning('HTTP', `${says}, a redirect`, advice) : ok('HTTP', says), ...clock(headers.date ?? '')];
}

function clock(date: string): Finding[] {
  const theirs = Date.parse(date);
  if (Number.isNaN(theirs)) return [];
  const seconds = Math.round((Date.now() - theirs) / 1000);
  if (Math.abs(seconds) <= clockSkew) return [ok('clock', `within ${clockSkew} s of the service's`)];
  const says = `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the service's`;
  return [warning('clock', says, 'Set the clock of this machine by the network.')];
}

async function* checkOperations(
  baseUrl: string,
  credentials: Credentials,
  values: SettingValues,
): AsyncGenerator<Finding> {
  const connection = remoteConnection(baseUrl, credentials);
  const probes = openProbes(connection, values);
  const verdicts: [string, Verdict][] = [];
  try {
    if (connection.basic) {
      verdicts.push(['query_queue_items (Basic)', await probes.query()]);
      verdicts.push(['create_evaluation (Basic)', await probes.create()]);
    }
    if (connection.bearer) verdicts.push(['run_inference (Bearer)', await probes.models()]);
  } finally {
    await probes.close();
  }
  yield* verdicts.map(([check, verdict]) => judged(check, verdict));
  // One operation may be missing at a service; where all are, it is another address than the service's.
  if (verdicts.length > 0 && verdicts.every(([, verdict]) => isLacking(verdict))) {
    const advice = 'Check the path of the base URL: this address answers, but it is not the API of the service.';
    yield failure('operations', `${baseUrl} has none of the operations that were tried`, advice);
  }
}

function judged(check: string, verdict: Verdict): Finding {
  if (verdict.state === 'accepted') return ok(check, 'the service accepts the credentials');
  const { message, hint } = verdict.error;
  return verdict.state === 'failed' ? failure(check, message, hint) : warning(check, `not proven. ${message}`, hint);
}

/** Node tells several failed addresses only in parts. */
function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join('; ');
  const { name, message } = error as Error;
  return name === 'AbortError' || name === 'TimeoutError' ? `no answer within ${layerTimeoutMs} ms` : message;
}

function since(startedAt: number): number {
  return Math.round(performance.now() - startedAt);
}
