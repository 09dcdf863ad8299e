// A real authorization server for the tests: users log in with any name and any password, programs by client credentials.
// Runs in a process of its own, under a Node that the library supports; the parent steers it by messages, see
// start-authorization-server.ts.
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose';
import { Provider } from 'oidc-provider';

const scopes = 'heddle:read heddle:write';
/** Newest first: the first signs, all are published. */
let keys = [];
let answer;

const server = createServer((request, response) => answer(request, response));
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address();
const issuer = `http://127.0.0.1:${port}`;

/** The server with these keys. What it has stored (clients, sessions, grants) lives on beside it. */
function serve() {
  const provider = new Provider(issuer, {
    jwks: { keys },
    clients: [
      // A program of each name and scope: its subject is its name.
      ...['reader', 'writer', 'machine-a', 'machine-b'].map((name) => ({
        client_id: name,
        client_secret: `${name}-secret`,
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
        scope: name === 'reader' ? 'heddle:read' : scopes,
      })),
      {
        client_id: 'desktop',
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: ['http://127.0.0.1/callback'],
      },
    ],
    scopes: ['openid', 'offline_access', ...scopes.split(' ')],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    features: {
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, resource) => ({
          scope: scopes,
          audience: resource,
          accessTokenFormat: resource.endsWith('/opaque') ? 'opaque' : 'jwt',
          accessTokenTTL: 3600,
          jwt: { sign: { alg: 'ES256' } },
        }),
        useGrantedResource: () => true,
      },
    },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  });
  answer = provider.callback();
}

async function rotate() {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const kid = `key-${keys.length + 1}-${Date.now()}`;
  keys = [{ ...(await exportJWK(privateKey)), kid, use: 'sig', alg: 'ES256' }, ...keys];
  serve();
}

const orders = {
  rotate,
  /** Whoever asks now is refused the connection. */
  async pause() {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  },
  resume: () => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve)),
  /** A token with these claims, signed as the server signs. */
  async sign(claims) {
    const [{ kid }] = keys;
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
      .sign(await importJWK(keys[0], 'ES256'));
  },
};

await rotate();
process.on('message', async ({ id, order, argument }) => {
  process.send({ id, result: await orders[order](argument) });
});
process.on('disconnect', () => process.exit());
process.send({ issuer });
