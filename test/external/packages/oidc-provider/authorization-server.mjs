// A real authorization server: users sign in with any name and password, programs with client credentials. It runs in
// another process, under a Node that the library supports; test/support/start-authorization-server.ts sends it messages.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose';
import { Provider } from 'oidc-provider';

const scopes = 'heddle:read heddle:write';
/** Newest first. The first one signs; all are published. */
let keys = [];
let answer;

const server = createServer((request, response) => answer(request, response));
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address();
const issuer = `http://127.0.0.1:${port}`;

/** Serves with the current keys. Clients, sessions and grants stay. */
function serve() {
  const provider = new Provider(issuer, {
    jwks: { keys },
    clients: [
      // The subject of a program is its name.
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
      {
        client_id: 'board',
        client_secret: 'board-secret',
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/board/callback', 'http://localhost/board/callback'],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    scopes: ['openid', 'email', 'offline_access', ...scopes.split(' ')],
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
    // Whoever signs in with an address has it; this server has not verified those of example.org.
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        ...(id.includes('@') && { email: id, email_verified: !id.endsWith('@example.org') }),
      }),
    }),
  });
  answer = provider.callback();
}

async function rotate() {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  // Two servers that start in the same millisecond must not share the id of a key.
  const kid = `key-${keys.length + 1}-${randomUUID()}`;
  keys = [{ ...(await exportJWK(privateKey)), kid, use: 'sig', alg: 'ES256' }, ...keys];
  serve();
}

const orders = {
  rotate,
  /** Refuses all connections. */
  async pause() {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  },
  resume: () => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve)),
  /** Signs a token with these claims like the server. */
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
