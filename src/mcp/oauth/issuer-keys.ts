import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import { HeddleError } from '../../core/errors.ts';
import { HttpClient, networkReason, readBody } from '../../core/http/http-client.ts';
import type { ProxySettings } from '../../core/http/proxies.ts';
import { parseJsonText } from '../../core/json/parse-json.ts';
import type { Log } from '../../core/log.ts';
import { version } from '../../core/version.ts';

/** Bounds discovery and the download of the keys together. */
const timeoutMs = 5_000;
/** Largest metadata or key set, after decompression. The usual ones have a few kilobytes. */
const maxResponseBytes = 1024 * 1024;
/** An unknown key makes heddle ask the issuer at most this often. */
const unknownKeyCooldownMs = 5_000;
/** Keys are fetched again this often, so that a key that the issuer withdraws soon stops counting. */
const refreshIntervalMs = 10 * 60_000;
/** Keys that were fetched longer ago than this are not used, even while the issuer is down. */
const maxAgeMs = 60 * 60_000;

/**
 * Creates the key resolver for the tokens of an issuer. It fetches the keys when the first token arrives, then refreshes
 * them in the background. A failed refresh is logged, and the earlier keys stay in use for up to an hour.
 *
 * The resolver throws a HeddleError when the keys cannot be fetched, and an error of jose when the issuer has no matching key.
 */
export function issuerKeys(issuer: string, log: Log, proxies?: ProxySettings): JWTVerifyGetKey {
  const httpClient = new HttpClient({ proxies });
  const keySet = createRemoteJWKSet(new URL(issuer), {
    timeoutDuration: timeoutMs,
    cooldownDuration: unknownKeyCooldownMs,
    cacheMaxAge: maxAgeMs,
    // The address of the keys is known only after discovery, which every download repeats.
    [customFetch]: async (_issuer, { signal }) => {
      try {
        const { keys } = await fetchKeys(issuer, httpClient, signal);
        return Response.json(keys);
      } catch (error) {
        const { message, hint } = error as HeddleError;
        log('error', 'no keys from the token issuer', { error: message, advice: hint });
        throw error;
      }
    },
  });
  let refreshedAtMs = Date.now();
  return (header, token) => {
    if (Date.now() - refreshedAtMs > refreshIntervalMs) {
      refreshedAtMs = Date.now();
      keySet.reload().catch(() => {});
    }
    return keySet(header, token);
  };
}

/**
 * Fetches the keys of an issuer from the `jwks_uri` in its metadata (RFC 8414 or OpenID Connect Discovery).
 * @throws HeddleError `service_unavailable` when the issuer does not respond, `bad_response` when its response is unusable.
 */
export async function fetchKeys(
  issuer: string,
  httpClient = new HttpClient(),
  signal = AbortSignal.timeout(timeoutMs),
): Promise<{ address: string; keys: JSONWebKeySet }> {
  const read = (address: string) => getJson(issuer, address, httpClient, signal);
  const address = String((await discoverMetadata(issuer, read)).jwks_uri);
  if (!URL.canParse(address) || !['https:', new URL(issuer).protocol].includes(new URL(address).protocol)) {
    throw fetchError(issuer, 'bad_response', 'its metadata has no usable jwks_uri');
  }
  const keys = (await read(address)) as unknown as JSONWebKeySet;
  try {
    createLocalJWKSet(keys);
  } catch {
    throw fetchError(issuer, 'bad_response', `${address} is not a JSON Web Key Set`);
  }
  return { address, keys };
}

/** Returns the issuer's metadata, trying the addresses in the order of the MCP authorization specification. */
async function discoverMetadata(
  issuer: string,
  read: (address: string) => Promise<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const addresses = new Set([
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]);
  const failures: HeddleError[] = [];
  for (const address of addresses) {
    try {
      const metadata = await read(address);
      if (metadata.issuer === issuer) return metadata;
      const found = JSON.stringify(metadata.issuer)?.slice(0, 200);
      throw fetchError(issuer, 'bad_response', `${address} belongs to the issuer ${found}`);
    } catch (error) {
      if ((error as HeddleError).code !== 'bad_response') throw error;
      failures.push(error as HeddleError);
    }
  }
  // Wrong metadata explains more than an address without any.
  throw failures.find(({ status }) => status === undefined) ?? failures[0]!;
}

async function getJson(
  issuer: string,
  address: string,
  httpClient: HttpClient,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const headers = { accept: 'application/json', 'user-agent': `heddle/${version}` };
  const unreachable = (error: unknown): HeddleError => {
    const reason = signal.aborted ? `no response within ${timeoutMs} ms` : networkReason(error);
    return fetchError(issuer, 'service_unavailable', `${address}: ${reason}`);
  };
  const response = await httpClient.send({ method: 'GET', url: address, headers, signal }).catch((error) => {
    throw unreachable(error);
  });
  const { status, body } = response;
  if (status !== 200) {
    body.destroy();
    const code = status >= 500 ? 'service_unavailable' : 'bad_response';
    throw fetchError(issuer, code, `${address} responded with status ${status}`, status);
  }
  const { bytes, error } = await readBody(body, maxResponseBytes);
  if (error instanceof RangeError) {
    throw fetchError(issuer, 'bad_response', `${address} responded with more than ${maxResponseBytes} bytes`);
  }
  if (error) throw unreachable(error);
  try {
    return z.looseObject({}).parse(parseJsonText(bytes.toString()));
  } catch {
    throw fetchError(issuer, 'bad_response', `${address} is not JSON`);
  }
}

const hints = {
  service_unavailable: 'Check that the issuer is running and reachable from here.',
  bad_response: 'Check --oauth-issuer: it must be exactly as in the metadata, including a slash at its end.',
};

function fetchError(issuer: string, code: keyof typeof hints, reason: string, status?: number): HeddleError {
  const message = `Cannot fetch the keys of the token issuer ${issuer}: ${reason}.`;
  return new HeddleError({
    code,
    message,
    hint: hints[code],
    status,
    retryable: true,
    retryAfterMs: unknownKeyCooldownMs,
  });
}
