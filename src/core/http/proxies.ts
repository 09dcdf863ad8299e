import { undefinedOnError } from '../errors.ts';
import { isLoopbackHost } from './loopback.ts';

/** The proxies for requests to http and https addresses, and the exceptions; each as the variable of its name holds it. */
export interface ProxySettings {
  httpProxy?: string | undefined;
  httpsProxy?: string | undefined;
  noProxy?: string | undefined;
}

/** The proxy of a request. */
export interface HttpProxy {
  /** Its origin, without the user name and the password. */
  origin: string;
  /** Value of `Proxy-Authorization`. */
  authorization: string | undefined;
  /** Variable that names the proxy. */
  variable: 'HTTP_PROXY' | 'HTTPS_PROXY';
  /** True if the proxy gets the request itself, and not only a tunnel for it. Most proxies open tunnels only for https. */
  isForwarder: boolean;
}

/** Code of the error when a proxy cannot be used, cannot be reached, or refuses to connect. */
export const proxyFailedCode = 'ERR_PROXY';

/**
 * Returns the proxy that requests to an address take; undefined for none. Requests to this machine take none. See
 * docs/configuration.md.
 * @throws an error with the code {@link proxyFailedCode} for a proxy that is not an http or https URL.
 */
export function proxyFor(url: URL, { httpProxy, httpsProxy, noProxy = '' }: ProxySettings): HttpProxy | undefined {
  const variable = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const text = variable === 'HTTPS_PROXY' ? httpsProxy : httpProxy;
  if (!text || isLoopbackHost(url.hostname)) return undefined;
  if (noProxy.split(/[\s,]/).some((entry) => covers(entry.toLowerCase(), url))) return undefined;
  try {
    const proxy = parseProxy(text);
    if (!['http:', 'https:'].includes(proxy.protocol)) throw new Error('another protocol');
    const isForwarder = url.protocol === 'http:' && proxy.protocol === 'http:';
    return { origin: proxy.origin, authorization: authorizationOf(proxy), variable, isForwarder };
  } catch {
    // The value is not shown: it may contain a password.
    const message = `${variable} must be an http or https URL, with each % in its password written as %25`;
    throw Object.assign(new Error(message), { code: proxyFailedCode });
  }
}

/** Returns whether an entry of NO_PROXY covers an address: `*`, or a host with its subdomains and perhaps a port. */
function covers(entry: string, { protocol, hostname, port }: URL): boolean {
  if (entry === '*') return true;
  const [, host, entryPort] = /^(?:\*?\.)?([^:]+|\[.*\])(?::(\d+))?$/.exec(entry) ?? [];
  if (host === undefined) return entry.includes(':') && hostname === `[${entry}]`;
  const urlPort = port || (protocol === 'https:' ? '443' : '80');
  return (hostname === host || hostname.endsWith(`.${host}`)) && (entryPort === undefined || entryPort === urlPort);
}

/** Returns the value of `Proxy-Authorization` for the user name and the password in the URL of a proxy. */
function authorizationOf({ username, password }: URL): string | undefined {
  if (username === '') return undefined;
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

/** Lists the passwords in the addresses of the proxies. */
export function proxyPasswords({ httpProxy, httpsProxy }: ProxySettings): string[] {
  return [httpProxy, httpsProxy].flatMap(
    (text = '') => undefinedOnError(() => decodeURIComponent(parseProxy(text).password)) ?? [],
  );
}

/** Parses the address of a proxy, which may leave out `http://`. Throws an error if it is not a URL. */
function parseProxy(text: string): URL {
  return new URL(text.includes('://') ? text : `http://${text}`);
}
