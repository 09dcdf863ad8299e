import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { exportSPKI, generateKeyPair, importJWK, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { ask, jsonHeaders, olderRequest, startHttp } from '../../support/http-server.ts';
import { askAs, startIssuer } from '../../support/issuer.ts';

const now = (): number => Math.floor(Date.now() / 1000);
const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

describe('OAuth access tokens', () => {
  it('gets 401 without a token, with the address of the resource metadata', async () => {
    const { issuer, asked } = await startIssuer();
    const { url } = await startHttp(['--oauth-issuer', issuer]);
    const { origin } = new URL(url);
    const answer = await ask(url, olderRequest('initialize'));
    expect(answer).toMatchObject({
      status: 401,
      headers: {
        'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="heddle:read"`,
      },
      body: '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Unauthorized: an access token is needed"},"id":null}',
    });
    for (const authorization of ['', 'Bearer', 'Basic bWlhOm1pYQ==', 'DPoP abc']) {
      const { status, headers } = await ask(url, {
        ...olderRequest('initialize'),
        headers: { ...jsonHeaders, authorization },
      });
      expect([status, headers['www-authenticate']]).toEqual([401, answer.headers['www-authenticate']]);
    }
    expect((await ask(`${url}?access_token=x`, olderRequest('initialize'))).status).toBe(401);
    expect((await ask(url, { method: 'GET' })).status).toBe(401);
    expect(asked).toEqual([]);
  });

  it('serves the protected-resource metadata without a token, also to web pages', async () => {
    const { issuer } = await startIssuer();
    const { url } = await startHttp([
      ...['--oauth-issuer', issuer],
      ...['--public-url', 'https://MCP.example.com/team/mcp/'],
    ]);
    for (const path of ['', '/mcp', '/team/mcp']) {
      const answer = await ask(new URL(`/.well-known/oauth-protected-resource${path}`, url), {
        method: 'GET',
        headers: { host: 'mcp.example.com', origin: 'https://app.example.org' },
      });
      expect(answer.status).toBe(200);
      expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'access-control-allow-origin': '*' });
      expect(JSON.parse(answer.body)).toEqual({
        resource: 'https://mcp.example.com/team/mcp',
        authorization_servers: [issuer],
        scopes_supported: ['heddle:read', 'heddle:write'],
        bearer_methods_supported: ['header'],
        resource_name: 'heddle',
      });
    }
    const at = new URL('/.well-known/oauth-protected-resource/mcp', url);
    const preflight = { origin: 'https://app.example.org', 'access-control-request-headers': 'mcp-protocol-version' };
    expect(await ask(at, { method: 'OPTIONS', headers: preflight })).toMatchObject({
      status: 204,
      headers: { 'access-control-allow-origin': '*', 'access-control-allow-headers': 'mcp-protocol-version' },
    });
    expect((await ask(at, { method: 'POST', body: {} })).status).toBe(405);
    expect((await ask(at, { method: 'GET', headers: { host: 'evil.example' } })).status).toBe(403);
    const challenge = (await ask(url, olderRequest('ping'))).headers['www-authenticate'];
    expect(challenge).toContain('"https://mcp.example.com/.well-known/oauth-protected-resource/team/mcp"');
  });

  it('accepts the forms of tokens that authorization servers issue', async () => {
    const server = await startIssuer();
    const { url } = await startHttp(['--oauth-issuer', server.issuer, '--public-url', 'https://mcp.example.com/mcp']);
    const aud = 'https://mcp.example.com/mcp';
    const cases: [string, Record<string, unknown>, Record<string, unknown>?][] = [
      ['as in RFC 9068', { aud }],
      ['several audiences', { aud: ['https://other.example', aud] }],
      ['the type JWT', { aud }, { typ: 'JWT' }],
      ['no type', { aud }, { typ: undefined }],
      ['the long type', { aud }, { typ: 'application/at+jwt' }],
      ['scopes as a list', { aud, scope: ['openid', 'heddle:read'] }],
      ['scopes as scp', { aud, scope: undefined, scp: 'openid heddle:read' }],
      ['scopes as a list in scp', { aud, scope: undefined, scp: ['heddle:read'] }],
      ['expired a moment ago', { aud, exp: now() - 5 }],
      ['valid in a moment', { aud, nbf: now() + 5 }],
    ];
    for (const [what, claims, header] of cases) {
      const answer = await askAs(url, await server.token(claims, header));
      expect([what, answer.status]).toEqual([what, 200]);
    }
  });

  it('rejects a token whose issuer publishes a weak or malformed key, and accepts those of its other keys', async () => {
    const server = await startIssuer();
    const { url, output } = await startHttp(['--oauth-issuer', server.issuer]);
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const ec = { kty: 'EC', crv: 'P-256' };
    const bad: [string, object][] = [
      ['RS256', weak.publicKey.export({ format: 'jwk' })],
      ['PS256', weak.publicKey.export({ format: 'jwk' })],
      ['RS256', { kty: 'RSA', n: 'AQAB', e: 'AQAB' }],
      ['RS256', { kty: 'RSA', n: 'A'.repeat(500_000), e: 'AQAB' }],
      ['RS256', { kty: 'RSA', n: '!', e: 7 }],
      ['RS256', { kty: 'RSA' }],
      ['ES256', ec],
      ['ES256', { ...ec, x: 'AA', y: 'AA' }],
      ['ES256', { ...ec, x: 5, y: null }],
      ['ES256', { ...ec, crv: 'P-384', x: 'AA', y: 'AA' }],
      ['ES256', { ...server.keys[0], x: server.keys[0]!.y }],
      ['ES256', { ...server.keys[0], key_ops: 'verify' }],
      ['ES256', { ...server.keys[0], key_ops: ['sign'] }],
      ['ES256', { ...server.keys[0], ext: 'no' }],
      ['ES256', {}],
      ['ES256', { kty: 5 }],
      ['EdDSA', { kty: 'OKP', crv: 'Ed25519', x: '' }],
      ['EdDSA', { kty: 'OKP', crv: 'Ed448', x: 'AAAA' }],
      ['Ed25519', { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(44) }],
    ];
    const published = bad.map(([, key], n) => ({ ...key, kid: `bad-${n}` }));
    server.keys = [...server.keys, ...(published as typeof server.keys)];
    const claims = { iss: server.issuer, aud: url, sub: 'mia', scope: 'heddle:read', exp: now() + 3600 };
    for (const [n, [alg]] of bad.entries()) {
      const text = `${encoded({ alg, typ: 'at+jwt', kid: `bad-${n}` })}.${encoded(claims)}`;
      const signature = alg === 'RS256' ? sign('sha256', Buffer.from(text), weak.privateKey) : Buffer.alloc(64);
      const { status, headers } = await askAs(url, `${text}.${signature.toString('base64url')}`);
      expect([n, status, headers['www-authenticate']]).toEqual([n, 401, expect.stringContaining('invalid_token')]);
    }
    expect(output.stderr).toContain('a key of the token issuer cannot be used');
    expect((await askAs(url, await server.token({ aud: url }))).status).toBe(200);
  });

  it('rejects an invalid token with the reason, and logs nothing of the token', async () => {
    const [server, foreign] = await Promise.all([startIssuer(), startIssuer()]);
    const { url, output } = await startHttp(['--oauth-issuer', server.issuer, '--log-level', 'debug']);
    const aud = url;
    const good = await server.token({ aud });
    const [header, payload, signature] = good.split('.') as [string, string, string];
    const stolen = await server.token({ aud, sub: 'somebody' });
    const publicKey = await importJWK({ ...server.keys[0]!, alg: 'ES256' }, 'ES256', { extractable: true });
    const pem = await exportSPKI(publicKey as Parameters<typeof exportSPKI>[0]);
    const hmac = (secret: string, kid?: string): string => {
      const text = `${encoded({ alg: 'HS256', typ: 'at+jwt', kid })}.${payload}`;
      return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
    };
    const attacker = await generateKeyPair('ES256');
    const embedded = await new SignJWT({ iss: server.issuer, aud, sub: 'mia', exp: now() + 3600 })
      .setProtectedHeader({ alg: 'ES256', kid: 'first', jwk: server.keys[0] })
      .sign(attacker.privateKey);
    const cases: [string, string | Promise<string>, string][] = [
      ['opaque', 'mF_9.B5f-4.1JqM', 'is not a signed JWT'],
      ['opaque, one part', 'gho_abcdefghijklmnop', 'is not a signed JWT'],
      ['encrypted', 'eyJhbGciOiJkaXIifQ..aaaa.bbbb.cccc', 'is not a signed JWT'],
      ['expired', server.token({ aud, exp: now() - 60 }), 'has expired'],
      ['without exp', server.token({ aud, exp: undefined }), 'lacks the claim exp'],
      ['not valid yet', server.token({ aud, nbf: now() + 60 }), 'is not valid yet'],
      ['for another server', server.token({ aud: 'https://other.example/mcp' }), 'is for another audience'],
      ['for the same host', server.token({ aud: new URL(url).origin }), 'is for another audience'],
      ['without aud', server.token({}), 'lacks the claim aud'],
      ['of another issuer', foreign.token({ aud }), 'comes from another issuer'],
      ['in the name of the issuer', foreign.token({ aud, iss: server.issuer }), 'has a wrong signature'],
      ['without sub', server.token({ aud, sub: undefined }), 'lacks the claim sub'],
      ['of an empty subject', server.token({ aud, sub: '' }), 'has no subject'],
      [
        'of an unknown key',
        server.token({ aud }, { kid: 'none' }),
        'is signed with a key that its issuer does not have',
      ],
      ['of another kind', server.token({ aud }, { typ: 'logout+jwt' }), 'is a token of another kind'],
      ['bound to a key', server.token({ aud, cnf: { jkt: 'x' } }), 'is bound to a key, which heddle does not check'],
      ['with another payload', `${header}.${stolen.split('.')[1]}.${signature}`, 'has a wrong signature'],
      ['with its own key', embedded, 'has a wrong signature'],
      [
        'not signed',
        `${encoded({ alg: 'none', typ: 'at+jwt' })}.${payload}.`,
        'is signed with an algorithm that heddle does not accept',
      ],
      ['HS256 with the PEM', hmac(pem, 'first'), 'is signed with an algorithm that heddle does not accept'],
      [
        'HS256 with the JWK',
        hmac(JSON.stringify(server.keys[0])),
        'is signed with an algorithm that heddle does not accept',
      ],
    ];
    const { origin } = new URL(url);
    for (const [what, token, reason] of cases) {
      const { status, headers, body } = await askAs(url, await token);
      expect([what, status, headers['www-authenticate']]).toEqual([
        what,
        401,
        `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="heddle:read", error="invalid_token", error_description="The access token ${reason}"`,
      ]);
      expect(body).toContain(`"message":"Unauthorized: the access token ${reason}"`);
    }
    expect((await askAs(url, good)).status).toBe(200);
    // The log gives the reason, and contains no part of a token.
    expect(output.stderr).toContain('the access token has expired');
    expect(output.stderr).not.toMatch(/eyJ[\w-]{10}/);
    for (const part of [payload, signature, 'gho_abcdefghijklmnop', 'mF_9']) expect(output.stderr).not.toContain(part);
  });

  it('accepts only the configured audience instead of the public URL', async () => {
    const server = await startIssuer();
    const { url } = await startHttp(['--oauth-issuer', server.issuer, '--oauth-audience', 'api://heddle']);
    expect((await askAs(url, await server.token({ aud: 'api://heddle' }))).status).toBe(200);
    expect((await askAs(url, await server.token({ aud: url }))).status).toBe(401);
  });

  it('accepts an audience with and without a slash when the endpoint is a whole host', async () => {
    const server = await startIssuer();
    const { url } = await startHttp(['--oauth-issuer', server.issuer, '--public-url', 'https://mcp.example.com']);
    for (const aud of ['https://mcp.example.com', 'https://mcp.example.com/']) {
      expect((await askAs(url, await server.token({ aud }))).status).toBe(200);
    }
    expect((await askAs(url, await server.token({ aud: 'https://mcp.example.com//' }))).status).toBe(401);
  });
});
