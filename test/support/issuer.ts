import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';
import { type Answer, ask, jsonHeaders, olderRequest } from './http-server.ts';

/** A token issuer that publishes keys and signs whatever a test asks for. */
export interface Issuer {
  issuer: string;
  /** Paths of the requests, in order. */
  asked: string[];
  /** The published public keys. */
  keys: JWK[];
  /** Signs with a new key from now on, and no longer publishes the old ones. */
  rotate: (kid: string) => Promise<void>;
  /** Signs a token. The claims override `iss`, `sub`, `scope` and an `exp` in an hour; undefined removes one. */
  token: (claims: Record<string, unknown>, header?: Record<string, unknown>) => Promise<string>;
  /** Handles a request instead of the issuer when it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
  stop: () => Promise<void>;
  resume: () => Promise<void>;
}

/** Starts an issuer that stops with the test. `path` is the path of its identifier. */
export async function startIssuer(path = ''): Promise<Issuer> {
  const server = createServer((request, response) => {
    const { url = '' } = request;
    self.asked.push(url);
    if (self.intercept(request, response)) return;
    const answer = (body: object): void => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (url === `/.well-known/oauth-authorization-server${path}`) {
      answer({ issuer: self.issuer, jwks_uri: `${self.issuer}/keys` });
    } else if (url === `${path}/keys`) answer({ keys: self.keys });
    else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  let key: CryptoKey;
  const self: Issuer = {
    issuer: `http://127.0.0.1:${port}${path}`,
    asked: [],
    keys: [],
    async rotate(kid) {
      const pair = await generateKeyPair('ES256');
      key = pair.privateKey;
      self.keys = [{ ...(await exportJWK(pair.publicKey)), kid }];
    },
    token(claims, header) {
      const exp = Math.floor(Date.now() / 1000) + 3600;
      const all = { iss: self.issuer, sub: 'mia', scope: 'heddle:read heddle:write', exp, ...claims };
      return new SignJWT(all)
        .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: self.keys[0]!.kid!, ...header })
        .sign(key);
    },
    intercept: () => false,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
    async resume() {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
  };
  await self.rotate('first');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return self;
}

/** Sends a request of an older protocol revision with a token. */
export function askAs(url: string, token: string, method = 'tools/list', params: object = {}): Promise<Answer> {
  return ask(url, {
    ...olderRequest(method, params),
    headers: { ...jsonHeaders, authorization: `Bearer ${token}` },
  });
}
