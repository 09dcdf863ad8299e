import { generateKeyPairSync } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { startHttp } from '../../support/http-server.ts';
import { askAs, startIssuer } from '../../support/issuer.ts';

describe('OAuth access tokens', () => {
  it('are accepted with every asymmetric algorithm that servers sign with', async () => {
    const { issuer, keys } = await startIssuer();
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
    const tokens: string[] = [];
    for (const alg of [...algorithms, 'Ed25519']) {
      const { publicKey, privateKey } = /^[RP]S/.test(alg) ? rsa : await generateKeyPair(alg);
      keys.push({ ...(await exportJWK(publicKey)), kid: alg, alg });
      const token = new SignJWT({ iss: issuer, sub: 'mia', scope: 'heddle:read' })
        .setProtectedHeader({ alg, typ: 'at+jwt', kid: alg })
        .setExpirationTime('1h');
      tokens.push(await token.setAudience('https://mcp.example.com/mcp').sign(privateKey));
    }
    const { url } = await startHttp(['--oauth-issuer', issuer, '--public-url', 'https://mcp.example.com/mcp']);
    const statuses = await Promise.all(tokens.map(async (token) => (await askAs(url, token)).status));
    expect(statuses).toEqual(tokens.map(() => 200));
  });
});
