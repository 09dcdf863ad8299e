import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import type { ServerFactory } from '../server.ts';
import type { Refusal } from './answer.ts';

/** Who may use the endpoint (design §8). */
export interface AccessRules {
  /** Names and addresses, without port, that a request may be addressed to besides the loopback ones. */
  allowedHosts: readonly string[];
  /** Origins of web pages besides the loopback ones: `https://app.example.com`, or a name for any scheme and port. */
  allowedOrigins: readonly string[];
}

/** Who sent a request, as far as a guard knows. */
export interface ClientIdentity {
  /** Absent where all who come in are one. */
  subject?: string;
  /** What the caller may do; everything when absent. */
  scopes?: ReadonlySet<string>;
  /** Makes the caller's servers, where not all callers have the same. */
  createServer?: ServerFactory;
}

/** Decides who comes in, and what they may do. */
export interface Guard {
  /** Who sent a request, or why it is refused, from its headers alone. */
  identify: (request: IncomingMessage) => ClientIdentity | Refusal | Promise<ClientIdentity | Refusal>;
  /** The reason not to do for a caller what the body asks for. */
  permit?: (caller: ClientIdentity, body: unknown) => Refusal | undefined;
  /** What everybody may know of how to come in (RFC 9728). */
  metadata?: { paths: readonly string[]; document: object };
}

/** The checks of a request's headers, made once for a server. */
export interface Access {
  /** The reason to refuse a request for where it was addressed to: a rebound DNS name. */
  host: (request: IncomingMessage) => Refusal | undefined;
  /** The reason to refuse a request for where it came from: a foreign web page. */
  origin: (request: IncomingMessage) => Refusal | undefined;
}

/** Host as clients write it; what URL parsing would also let through (user information, paths) is no host. */
const hostForm = /^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i;

/** Makes the checks from the rules. */
export function accessChecks({ allowedHosts, allowedOrigins }: AccessRules): Access {
  const hosts = [...localhostAllowedHostnames(), ...allowedHosts.map(asHostname)];
  const origins = new Set(allowedOrigins);
  const originNames = [...localhostAllowedOrigins(), ...origins];
  return {
    host({ headers: { host }, socket }) {
      const known =
        host !== undefined &&
        hostForm.test(host) &&
        // An address cannot be rebound to another one, so the one that the connection came in by is as good as a name.
        validateHostHeader(host, [...hosts, asHostname(socket.localAddress)]).ok;
      return known ? undefined : { status: 403, message: 'Forbidden: this Host is not allowed' };
    },

    origin({ headers: { origin } }) {
      if (origin === undefined || origins.has(origin) || validateOriginHeader(origin, originNames).ok) return undefined;
      return { status: 403, message: 'Forbidden: this Origin is not allowed' };
    },
  };
}

/** Lets in who sends this one bearer token. */
export function tokenGuard(token: string): Guard {
  const expected = digest(token);
  return {
    identify(request): ClientIdentity | Refusal {
      const given = bearerOf(request);
      if (given !== undefined && timingSafeEqual(digest(given), expected)) return {};
      return {
        status: 401,
        message: 'Unauthorized: a valid bearer token is needed',
        headers: { 'www-authenticate': `Bearer realm="heddle"${given === undefined ? '' : ', error="invalid_token"'}` },
      };
    },
  };
}

/** The bearer token of a request (RFC 6750, section 2.1). */
export function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^bearer +([\x21-\x7e]+) *$/i.exec(headers.authorization ?? '')?.[1];
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
