import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import type { Refusal } from './http-answer.ts';

/** Who may use the endpoint (design §8). */
export interface AccessRules {
  /** Names and addresses, without port, that a request may be addressed to besides the loopback ones. */
  allowedHosts: readonly string[];
  /** Origins of web pages besides the loopback ones: `https://app.example.com`, or a name for any scheme and port. */
  allowedOrigins: readonly string[];
  /** Bearer token that every caller must send; without one there is no such check. */
  token?: string;
}

/** The checks of a request's headers, made once for a server. */
export interface Access {
  /** The reason to refuse a request for where it came through: a rebound DNS name, a foreign web page. */
  place: (request: IncomingMessage) => Refusal | undefined;
  /** The reason to refuse a request for who sent it. */
  caller: (request: IncomingMessage) => Refusal | undefined;
}

/** Host as clients write it; what URL parsing would also let through (user information, paths) is no host. */
const hostForm = /^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i;

/** Makes the checks from the rules. */
export function accessChecks({ allowedHosts, allowedOrigins, token }: AccessRules): Access {
  const hosts = [...localhostAllowedHostnames(), ...allowedHosts.map(asHostname)];
  const origins = new Set(allowedOrigins);
  const originNames = [...localhostAllowedOrigins(), ...origins];
  const expected = token === undefined ? undefined : digest(token);
  return {
    place({ headers: { host, origin }, socket }) {
      const known =
        host !== undefined &&
        hostForm.test(host) &&
        // An address cannot be rebound to another one, so the one that the connection came in by is as good as a name.
        validateHostHeader(host, [...hosts, asHostname(socket.localAddress)]).ok;
      if (!known) return { status: 403, message: 'Forbidden: this Host is not allowed' };
      if (origin === undefined || origins.has(origin) || validateOriginHeader(origin, originNames).ok) return undefined;
      return { status: 403, message: 'Forbidden: this Origin is not allowed' };
    },

    caller({ headers: { authorization } }) {
      if (expected === undefined) return undefined;
      const given = /^bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? '')?.[1];
      if (given !== undefined && timingSafeEqual(digest(given), expected)) return undefined;
      return {
        status: 401,
        message: 'Unauthorized: a valid bearer token is needed',
        headers: { 'www-authenticate': `Bearer realm="heddle"${given === undefined ? '' : ', error="invalid_token"'}` },
      };
    },
  };
}

/**
 * Headers that let the web page which sent an allowed Origin read the answer; none for other clients. `preflight` adds
 * what a browser asks for before the request itself.
 */
export function corsHeaders({ headers }: IncomingMessage, preflight = false): Record<string, string> {
  if (headers.origin === undefined) return {};
  return {
    'access-control-allow-origin': headers.origin,
    'access-control-expose-headers': 'mcp-session-id, www-authenticate, retry-after, x-request-id',
    vary: 'origin',
    ...(preflight && {
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': headers['access-control-request-headers'] ?? '',
      'access-control-max-age': '600',
    }),
  };
}

/** Both sides are hashed first, so that neither content nor length decides how long the comparison takes. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** A name or address as it stands in a URL. */
function asHostname(address = ''): string {
  const plain = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '');
  return plain.includes(':') && !plain.startsWith('[') ? `[${plain}]` : plain;
}
