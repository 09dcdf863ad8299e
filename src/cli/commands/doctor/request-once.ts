import { HttpClient, type HttpResponse, networkCode, networkReason } from '../../../core/http/http-client.ts';
import type { ProxySettings } from '../../../core/http/proxies.ts';

/** Longest time until a response has arrived, in milliseconds. */
const timeoutMs = 5_000;

/** Code of the error of {@link requestOnce} when there is no response in time. */
export const noResponseCode = 'ETIMEDOUT';

/**
 * Sends one GET request, through the proxies of the environment.
 * @throws an error that states the reason, with the code of the network error or {@link noResponseCode}.
 */
export async function requestOnce(
  url: string,
  headers: Record<string, string>,
  proxies: ProxySettings,
): Promise<HttpResponse> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    return await new HttpClient({ proxies }).send({ method: 'GET', url, headers, signal });
  } catch (cause) {
    const [reason, code] = signal.aborted
      ? [`no response within ${timeoutMs} ms`, noResponseCode]
      : [networkReason(cause), networkCode(cause)];
    throw Object.assign(new Error(reason, { cause }), { code });
  }
}
