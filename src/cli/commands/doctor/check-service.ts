import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { certificateCodes, networkCode, tlsCodes, unsentCodes } from '../../../core/http/http-client.ts';
import { proxyFailedCode, proxyFor } from '../../../core/http/proxies.ts';
import { version } from '../../../core/version.ts';
import { remoteConnection } from '../../../runtime/runtime.ts';
import type { Credentials } from '../../../settings/secrets/credentials.ts';
import type { SettingValues } from '../../../settings/settings.ts';
import { lacksEveryOperation, type Probe, probeService } from '../../access/probe-service.ts';
import { hintForPeople } from '../../terminal/report-failure.ts';
import { type Finding, failure, ok, warning } from './finding.ts';
import { noResponseCode, requestOnce } from './request-once.ts';

/** The channel on which undici reports each connection, with its socket. */
const connectedChannel = 'undici:client:connected';
/** Differences of the clocks up to this many seconds are normal. */
const maxClockSkewS = 60;
/** Certificates that expire within this many days are reported. */
const certificateWarningDays = 14;

const layerAdvice = {
  proxy:
    'Check the address of the proxy in HTTPS_PROXY or HTTP_PROXY, its user name and password, and that it reaches the base URL. NO_PROXY lists hosts to reach without it.',
  DNS: 'Check the host name in the base URL, and the name server of this network.',
  TCP: 'Check that the service runs (`heddle service start` if it is one of heddle), the port in the base URL, and firewalls between here and there.',
  // Nothing says whether the host, the port or TLS was silent.
  connection: 'Check the scheme and the port in the base URL, and firewalls between here and there.',
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

/** Sends one request without credentials. Reports the connection, the response and the clock, or the layer that failed and false. */
async function* checkNetwork(
  url: string,
  setting: AddressSetting,
  values: SettingValues,
): AsyncGenerator<Finding, boolean> {
  const named = (finding: Finding): Finding =>
    setting === 'base URL' ? finding : { ...finding, check: `inference ${finding.check}` };
  let connection: Finding[] = [];
  const onConnected = (message: unknown) => {
    connection = describeConnection((message as { socket: Socket | TLSSocket }).socket);
  };
  subscribe(connectedChannel, onConnected);
  try {
    const { origin } = new URL(url);
    const proxy = proxyFor(new URL(url), values);
    if (proxy) yield named(ok('proxy', `${proxy.origin} from ${proxy.variable} is used for ${origin}`));
    const startedAt = performance.now();
    const { status, headers, body } = await requestOnce(url, { 'user-agent': `heddle/${version}` }, values);
    body.destroy();
    const response = checkStatus(status, performance.now() - startedAt, setting);
    yield* [...connection, response, ...checkClock(headers.date)].map(named);
    return true;
  } catch (error) {
    const layer = layerOf(networkCode(error), connection.length > 0);
    const advice = layerAdvice[layer].replace('base URL', setting);
    yield* [...connection, failure(layer, (error as Error).message, advice)].map(named);
    return false;
  } finally {
    unsubscribe(connectedChannel, onConnected);
  }
}

/** Returns the layer of a network error by its code. */
function layerOf(code = '', isConnected: boolean): keyof typeof layerAdvice {
  if (code === proxyFailedCode) return 'proxy';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'DNS';
  if (certificateCodes.test(code) || tlsCodes.test(code)) return 'TLS';
  if (code === noResponseCode && !isConnected) return 'connection';
  return unsentCodes.has(code) ? 'TCP' : 'HTTP';
}

/** Returns the address of a connection and, if it uses TLS, its certificate. Through a tunnel, the latter is of the service. */
function describeConnection(socket: Socket | TLSSocket): Finding[] {
  const connected = ok('TCP', `connected to ${socket.remoteAddress}, port ${socket.remotePort}`);
  if (!(socket instanceof TLSSocket)) return [connected];
  const { valid_to, issuer } = socket.getPeerCertificate();
  const days = Math.floor((Date.parse(valid_to) - Date.now()) / 86_400_000);
  const message = `${socket.getProtocol()}, certificate issued by ${issuer.O ?? issuer.CN}, valid for ${days} more days`;
  if (days >= certificateWarningDays) return [connected, ok('TLS', message)];
  return [connected, warning('TLS', message, 'Ask the operator of the service to renew the certificate.')];
}

/** Any response proves HTTP. */
function checkStatus(status: number, durationMs: number, setting: AddressSetting): Finding {
  const message = `the address responds, in ${Math.round(durationMs)} ms`;
  if (status < 300 || status >= 400) return ok('HTTP', message);
  const advice = `heddle does not send credentials to the target of a redirect: set the ${setting} to the final address.`;
  return warning('HTTP', `${message}, with a redirect (status ${status})`, advice);
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
  const hint = hintForPeople(probe.error);
  const message = isElsewhere ? `${probe.error.message} Inference is at ${url}.` : probe.error.message;
  if (probe.state === 'failed') return failure(name, message, hint);
  return warning(name, `could not be verified. ${message}`, hint);
}
