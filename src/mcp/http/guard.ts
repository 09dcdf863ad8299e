import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import { Refusal } from '../../core/http/refusal.ts';
import type { ServerFactory } from '../server.ts';

/** The sender of a request, as a guard identified it. */
export interface ClientIdentity {
  /** Absent if all clients share one token. */
  subject?: string;
  /** The scopes of the access token; absent if the client may do everything. */
  scopes?: ReadonlySet<string>;
  /** Creates the servers of this client; absent if all clients get the same. */
  createMcpServer?: ServerFactory;
}

/** Decides which clients are admitted over HTTP, and what they may do. */
export interface Guard {
  /**
   * Returns the sender of a request, known from its headers alone.
   * @throws Refusal for a client that is not admitted.
   */
  identify: (request: IncomingMessage) => ClientIdentity | Promise<ClientIdentity>;
  /**
   * Checks that a client may do what a parsed request body asks for.
   * @throws Refusal when it may not.
   */
  permit?: (client: ClientIdentity, body: unknown) => void;
  /** The public document that tells clients where to get a token (RFC 9728), and the paths that it is served at. */
  metadata?: { paths: readonly string[]; document: object };
  /** Tells a client that looks for an authorization server how it gets in instead; absent if there is one. */
  loginHint?: string;
}

/** A host as clients write it. URL parsing would also accept user information and paths. */
const hostPattern = /^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i;

/** Checks the Host and Origin headers of requests. */
export class AccessChecks {
  readonly #hosts: string[];
  readonly #allowedOrigins: readonly string[];

  /** @param allowedHosts hosts that requests may name besides the loopback ones. */
  constructor(allowedHosts: readonly string[], allowedOrigins: readonly string[]) {
    this.#hosts = [...localhostAllowedHostnames(), ...allowedHosts.map(asHostname)];
    this.#allowedOrigins = allowedOrigins;
  }

  /** @throws Refusal 403 for a request to another host, which may be a rebound DNS name. */
  checkHost({ headers: { host }, socket }: IncomingMessage): void {
    // An address cannot be rebound, so the one that the connection came in on is as good as a name.
    const known = [...this.#hosts, asHostname(socket.localAddress)];
    if (host === undefined || !hostPattern.test(host) || !validateHostHeader(host, known).ok) {
      throw new Refusal(403, 'Forbidden: this Host is not allowed');
    }
  }

  /** @throws Refusal 403 for a request that a foreign web page sends. */
  checkOrigin({ headers: { origin } }: IncomingMessage): void {
    if (origin === undefined || this.#allowedOrigins.includes(origin)) return;
    // Only a page of the web is local because of its name; any app can register a scheme of its own.
    const local = /^https?:/i.test(origin) ? localhostAllowedOrigins() : [];
    if (validateOriginHeader(origin, [...local, ...this.#allowedOrigins]).ok) return;
    throw new Refusal(403, 'Forbidden: this Origin is not allowed');
  }
}

/** Clients take a 401 for a request to log in with OAuth, so it is said that there is nothing to log in to. */
const tokenHint =
  'this server has no OAuth login, it takes one bearer token: set the header Authorization: Bearer TOKEN in the client, with the token of the server (its HEDDLE_HTTP_TOKEN or --token-file)';

/** Creates the guard that admits clients with this one bearer token. */
export function tokenGuard(token: string): Guard {
  return {
    loginHint: tokenHint,
    identify(request) {
      const given = bearerOf(request);
      if (given !== undefined && isSameSecret(given, token)) return {};
      const fault = faultOf(given);
      const error = given === undefined ? '' : `, error="invalid_token", error_description="${fault}"`;
      const challenge = `Bearer realm="heddle"${error}`;
      throw new Refusal(401, `Unauthorized: ${fault}`, {
        headers: { 'www-authenticate': challenge },
      });
    },
  };
}

/** Returns what is wrong with the token of a request, and what to do. */
function faultOf(given: string | undefined): string {
  if (given === undefined) return `the request has no bearer token; ${tokenHint}`;
  // A client sends what its entry says when the variable is not set. Clients cut long texts.
  if (/^\$?\{/.test(given))
    return "the client sent the name of a variable: set it to the server's token where the client is started";
  return `the token is wrong; ${tokenHint}`;
}

/** Compares secrets in a time that neither their contents nor their lengths decide. */
export function isSameSecret(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(given), digest(expected));
}

/** Returns the bearer token of a request (RFC 6750, section 2.1). */
export function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^bearer +([\x21-\x7e]+) *$/i.exec(headers.authorization ?? '')?.[1];
}

/** @throws Refusal 405 for a request with another method. */
export function checkMethod({ method = '' }: IncomingMessage, ...allowed: string[]): void {
  if (allowed.includes(method)) return;
  throw new Refusal(405, `Method not allowed: send ${allowed[0]}`, { headers: { allow: allowed.join(', ') } });
}

/** Returns a name or address in the form it has in a URL. */
function asHostname(address = ''): string {
  const plain = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '');
  return plain.includes(':') && !plain.startsWith('[') ? `[${plain}]` : plain;
}
