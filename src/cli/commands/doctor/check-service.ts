import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { HttpClient } from '../../../core/http/http-client.ts';
import { proxyFailedCode, proxyFor } from '../../../core/http/proxies.ts';
import { version } from '../../../core/version.ts';
import { remoteConnection } from '../../../runtime/runtime.ts';
import type { Credentials } from '../../../settings/secrets/credentials.ts';
import type { SettingValues } from '../../../settings/settings.ts';
import { lacksEveryOperation, type Probe, probeService } from '../../access/probe-service.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

const layerTimeoutMs = 5_000;
/** Differences of the clocks up to this many seconds are normal. */
const maxClockSkewS = 60;
/** Certificates that expire within this many days are reported. */
const certificateWarningDays = 14;

const layerAdvice = {
  proxy:
    'Check the address of the proxy in HTTPS_PROXY or HTTP_PROXY, its user name and password, and that it reaches the base URL. NO_PROXY lists hosts to reach without it.',
  DNS: 'Check the host name in the base URL, and the name server of this network.',
  TCP: 'Check the port in the base URL, and firewalls between here and there.',
  TLS: 'Check the base URL. For a private certificate authority, set NODE_EXTRA_CA_CERTS where heddle is started.',
  HTTP: 'Check that the base URL is the API of the service.',
};

type AddressSetting = 'base URL' | 'inference URL';

/** Checks the network and the clock, then each operation whose address can be reached: inference may have its own. */
export async function* checkService(
  baseUrl: string,
  credentials: Credentials,
  values: SettingValues,
): AsyncGenerator<Finding> {
  const { username, password, token } = credentials;
  const { inferenceUrl = baseUrl } = values;
  const isServiceReached = yield* checkNetwork(baseUrl, 'base URL', values);
  const hasOwnOrigin = token !== undefined && new URL(inferenceUrl).origin !== new URL(baseUrl).origin;
  const isInferenceReached = hasOwnOrigin
    ? yield* checkNetwork(inferenceUrl, 'inference URL', values)
    : isServiceReached;
  const usable = { ...(isServiceReached && { username, password }), ...(isInferenceReached && { token }) };
  yield* await checkOperations(baseUrl, usable, values);
}

/**
 * Checks DNS, TCP, TLS and HTTP up to the first layer that fails, then the clock. A proxy takes the place of the service below
 * HTTP. Returns false if a layer failed.
 */
async function* checkNetwork(
  url: string,
  setting: AddressSetting,
  values: SettingValues,
): AsyncGenerator<Finding, boolean> {
  const named = (finding: Finding): Finding =>
    setting === 'base URL' ? finding : { ...finding, check: `inference ${finding.check}` };
  let layer: keyof typeof layerAdvice = 'proxy';
  let addressSetting: string = setting;
  try {
    const proxy = proxyFor(new URL(url), values);
    if (proxy) {
      yield named(ok('proxy', `${proxy.origin} from ${proxy.variable} is used for ${new URL(url).origin}`));
      addressSetting = proxy.variable;
    }
    const { hostname, port: givenPort, protocol } = new URL(proxy?.origin ?? url);
    const host = hostname.replace(/^\[|\]$/g, '');
    const port = Number(givenPort) || (protocol === 'https:' ? 443 : 80);
    layer = 'DNS';
    if (!isIP(host)) yield named(await checkDns(host));
    layer = 'TCP';
    yield named(await checkTcp(host, port));
    layer = 'TLS';
    if (protocol === 'https:') yield named(await checkTls(host, port));
    layer = 'HTTP';
    addressSetting = setting;
    yield* (await checkHttp(url, setting, values)).map(named);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === proxyFailedCode) layer = 'proxy';
    yield named(failure(layer, networkMessage(error), layerAdvice[layer].replace('base URL', addressSetting)));
    return false;
  }
}

async function checkDns(host: string): Promise<Finding> {
  const addresses = await lookup(host, { all: true });
  return ok('DNS', `${host} resolves to ${addresses.map(({ address }) => address).join(', ')}`);
}

async function checkTcp(host: string, port: number): Promise<Finding> {
  const socket = connectTcp({ host, port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(layerTimeoutMs) });
    return ok('TCP', `connected to port ${port}`);
  } finally {
    socket.destroy();
  }
}

async function checkTls(host: string, port: number): Promise<Finding> {
  const socket = connectTls({ host, port, ...(isIP(host) ? {} : { servername: host }) });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(layerTimeoutMs) });
    const { valid_to, issuer } = socket.getPeerCertificate();
    const days = Math.floor((Date.parse(valid_to) - Date.now()) / 86_400_000);
    const message = `${socket.getProtocol()}, certificate issued by ${issuer.O ?? issuer.CN}, valid for ${days} more days`;
    if (days >= certificateWarningDays) return ok('TLS', message);
    return warning('TLS', message, 'Ask the operator of the service to renew the certificate.');
  } finally {
    socket.destroy();
  }
}

/** Sends one request without credentials. Any response proves HTTP, and its Date header gives the service's clock. */
async function checkHttp(url: string, setting: AddressSetting, proxies: SettingValues): Promise<Finding[]> {
  const startedAt = performance.now();
  const { status, headers, body } = await new HttpClient({ proxies }).send({
    method: 'GET',
    url,
    headers: { 'user-agent': `heddle/${version}` },
    signal: AbortSignal.timeout(layerTimeoutMs),
  });
  body.destroy();
  const message = `status ${status} in ${Math.round(performance.now() - startedAt)} ms`;
  const clock = checkClock(headers.date);
  if (status < 300 || status >= 400) return [ok('HTTP', message), ...clock];
  const advice = `heddle does not send credentials to the target of a redirect: set the ${setting} to the final address.`;
  return [warning('HTTP', `${message}, a redirect`, advice), ...clock];
}

function checkClock(date: string | string[] | undefined): Finding[] {
  const serviceTime = Date.parse(String(date));
  if (Number.isNaN(serviceTime)) return [];
  const seconds = Math.round((Date.now() - serviceTime) / 1000);
  if (Math.abs(seconds) <= maxClockSkewS) return [ok('clock', `within ${maxClockSkewS} s of the service's`)];
  const message = `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the service's`;
  return [warning('clock', message, 'Let this machine set its clock over the network (NTP).')];
}

async function checkOperations(
  baseUrl: string,
  credentials: Omit<Credentials, 'sources'>,
  values: SettingValues,
): Promise<Finding[]> {
  const connection = remoteConnection(baseUrl, values.inferenceUrl, credentials);
  const probes = await probeService(connection, values, { withCreation: true });
  const findings = probes.map((probe) => findingOf(probe, baseUrl));
  for (const url of new Set(probes.map((probe) => probe.url))) {
    if (!lacksEveryOperation(probes.filter((probe) => probe.url === url))) continue;
    const setting: AddressSetting = url === baseUrl ? 'base URL' : 'inference URL';
    const advice = `Check the path of the ${setting}: something responds at this address, but not the API of the service.`;
    findings.push(failure('operations', `${url} has none of the operations that were tried`, advice));
  }
  return findings;
}

function findingOf(probe: Probe, baseUrl: string): Finding {
  const { operation, scheme, url } = probe;
  const name = `${operation} (${scheme})`;
  const isElsewhere = url !== baseUrl;
  if (probe.state === 'accepted') return ok(name, `${isElsewhere ? url : 'the service'} accepts the credentials`);
  const { hint } = probe.error;
  const message = isElsewhere ? `${probe.error.message} Inference is at ${url}.` : probe.error.message;
  if (probe.state === 'failed') return failure(name, message, hint);
  return warning(name, `could not be verified. ${message}`, hint);
}

/** Returns the reason of a network error: connections to several addresses have several. */
function networkMessage(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(networkMessage).join('; ');
  const { name, message } = error as Error;
  return name === 'AbortError' || name === 'TimeoutError' ? `no response within ${layerTimeoutMs} ms` : message;
}
