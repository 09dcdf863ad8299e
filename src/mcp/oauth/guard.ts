import { getOAuthProtectedResourceMetadataUrl } from '@modelcontextprotocol/server';
import { decodeJwt, errors, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose';
import { HeddleError } from '../../core/errors.ts';
import { Refusal } from '../../core/http/refusal.ts';
import type { Log } from '../../core/log.ts';
import { tools } from '../../tools/support/registry.ts';
import { escapeInvisible } from '../../tools/support/table.ts';
import { bearerOf, type Guard } from '../http/access.ts';
import type { ServerFactory } from '../server.ts';
import { IssuerKeys } from './issuer.ts';

/** What a token may allow. The second includes the first. */
export const scopes = ['heddle:read', 'heddle:write'] as const;
type Scope = (typeof scopes)[number];

/** Whose tokens are taken, and for what. */
export interface OAuthRules {
  /** Issuer identifier of the authorization server, exactly as it writes it. */
  issuer: string;
  /** Address of the endpoint as clients know it: the identifier of the protected resource (RFC 8707). */
  resource: string;
  /** What a token must name as its audience; the resource when absent. */
  audience?: string;
  /** What serves a subject; undefined for one that may not come in. Without it all are served alike. */
  serverFor?: (subject: string) => ServerFactory | undefined;
}

/** Signatures that only the issuer can make: whoever can check one of a shared secret can also make it. */
const algorithms = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
/** Difference of clocks that is let pass, in seconds. */
const clockToleranceS = 30;
/** RFC 9068 wants `at+jwt`; many servers send `JWT` or nothing. Tokens for other purposes have a type of their own. */
const tokenType = /^(application\/)?(at\+)?jwt$/i;
const writers = new Set(tools.filter(({ hints }) => !hints.readOnlyHint).map(({ name }) => name));

/**
 * Lets in who brings an access token of the issuer for this server (MCP authorization, revisions 2025-11-25 and
 * 2026-07-28; RFC 9068, 9728). The token is looked at here and goes no further.
 */
export function oauthGuard({ issuer, resource, audience, serverFor }: OAuthRules, log: Log): Guard {
  const keys = new IssuerKeys(issuer, log);
  const metadataUrl = getOAuthProtectedResourceMetadataUrl(new URL(resource));
  // Clients write the address of a whole host with a slash at its end.
  const audiences =
    audience === undefined ? [resource, ...(new URL(resource).pathname === '/' ? [`${resource}/`] : [])] : [audience];

  const challenge = (scope: Scope, error?: string, description?: string): Record<string, string> => ({
    'www-authenticate': [
      `Bearer resource_metadata="${metadataUrl}"`,
      `scope="${scope}"`,
      ...(error === undefined ? [] : [`error="${error}"`, `error_description="${description}"`]),
    ].join(', '),
  });
  const invalid = (reason: string): Refusal =>
    new Refusal(401, `Unauthorized: the access token ${reason}`, {
      headers: challenge('heddle:read', 'invalid_token', `The access token ${reason}`),
    });
  const insufficient = (scope: Scope): Refusal =>
    new Refusal(403, `Forbidden: the access token lacks the scope ${scope}`, {
      headers: challenge(scope, 'insufficient_scope', `The scope ${scope} is needed`),
    });

  const verify = async (token: string): Promise<JWTVerifyResult> => {
    try {
      // Tokens of others do not make this server ask its issuer.
      if (decodeJwt(token).iss !== issuer) throw invalid('comes from another issuer');
      return await jwtVerify(token, (header, jws) => keys.find(header, jws), {
        issuer,
        audience: audiences,
        algorithms,
        clockTolerance: clockToleranceS,
        requiredClaims: ['exp', 'sub'],
      });
    } catch (error) {
      if (error instanceof HeddleError) throw unavailable(error);
      if (error instanceof errors.JOSEError) throw invalid(reasonOf(error));
      throw error;
    }
  };

  return {
    async identify(request) {
      const token = bearerOf(request);
      if (token === undefined) {
        throw new Refusal(401, 'Unauthorized: an access token is needed', { headers: challenge('heddle:read') });
      }
      const verified = await verify(token);
      const { sub, cnf } = verified.payload;
      if (!tokenType.test(verified.protectedHeader.typ ?? 'JWT')) throw invalid('is a token of another kind');
      if (cnf !== undefined) throw invalid('is bound to a key, which heddle does not check');
      if (typeof sub !== 'string' || sub === '') throw invalid('has no subject');
      const createServer = serverFor?.(sub);
      if (serverFor && !createServer) throw stranger(sub);
      return { subject: sub, scopes: scopesOf(verified.payload), createServer };
    },

    permit({ scopes: granted }, body) {
      const messages = Array.isArray(body) ? body : [body];
      const scope = messages.some(isWriting) ? 'heddle:write' : 'heddle:read';
      if (!granted?.has(scope) && !granted?.has('heddle:write')) throw insufficient(scope);
    },

    metadata: {
      paths: ['', '/mcp', new URL(resource).pathname].map((path) => `/.well-known/oauth-protected-resource${path}`),
      document: {
        resource,
        authorization_servers: [issuer],
        scopes_supported: scopes,
        bearer_methods_supported: ['header'],
        resource_name: 'heddle',
      },
    },
  };
}

/** Of all that a client can ask for, only calls of tools can change something. */
function isWriting(message: { method?: unknown; params?: { name?: unknown } } | null): boolean {
  return message?.method === 'tools/call' && writers.has(String(message.params?.name));
}

/** What the token allows: `scope` by RFC 9068; other servers write `scp`, and lists. */
function scopesOf({ scope, scp }: JWTPayload): Set<string> {
  return new Set(
    [scope, scp].flatMap((claim) => (typeof claim === 'string' ? claim.split(' ') : ((claim as string[]) ?? []))),
  );
}

/** Why a token does not hold, in words that go into a header: none of the token's. */
function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'has expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === 'missing') return `lacks the claim ${error.claim}`;
    if (error.claim === 'aud') return 'is for another audience';
    if (error.claim === 'nbf') return 'is not valid yet';
    return `has a wrong claim ${error.claim}`;
  }
  return reasons[error.code] ?? 'is not a signed JWT, and heddle takes no other';
}

const reasons: Record<string, string> = {
  ERR_JOSE_ALG_NOT_ALLOWED: 'is signed in a way that heddle does not take',
  ERR_JWKS_NO_MATCHING_KEY: 'is signed with a key that its issuer does not have',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'does not say which key of its issuer signed it',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'has a wrong signature',
};

function unavailable({ retryAfterMs = 0 }: HeddleError): Refusal {
  return new Refusal(503, 'Service unavailable: the issuer of access tokens cannot be asked for its keys', {
    headers: { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) },
  });
}

function stranger(subject: string): Refusal {
  const named = escapeInvisible(JSON.stringify(subject.slice(0, 200)));
  return new Refusal(
    403,
    `Forbidden: nothing is set up here for the subject ${named}; ask whoever runs this server to add it`,
  );
}
