import { getOAuthProtectedResourceMetadataUrl } from '@modelcontextprotocol/server';
import { decodeJwt, errors, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose';
import { HeddleError } from '../../core/errors.ts';
import type { ProxySettings } from '../../core/http/proxies.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { ownMember } from '../../core/json/member-at.ts';
import type { Log } from '../../core/log.ts';
import { escapeInvisible } from '../../text/compact-table.ts';
import { tools } from '../../tools/definition/registry.ts';
import { bearerOf, type Guard } from '../http/guard.ts';
import type { ServerFactory } from '../server.ts';
import { issuerKeys } from './issuer-keys.ts';

/** Permissions a token can grant. `heddle:write` includes `heddle:read`. */
const scopes = ['heddle:read', 'heddle:write'] as const;
type Scope = (typeof scopes)[number];

export interface OAuthRules {
  /** Issuer identifier of the authorization server, exactly as in its metadata. */
  issuer: string;
  /** URL of the endpoint as clients know it: the identifier of the protected resource (RFC 8707). */
  resource: string;
  /** Audience that tokens must name; defaults to the resource. */
  audience?: string;
  /** Returns what serves a subject, or undefined for a subject without access. Without it, all subjects are served alike. */
  serverFor?: (subject: string) => ServerFactory | undefined;
  /** Proxies for requests to the issuer. None by default. */
  proxies?: ProxySettings;
}

/** Asymmetric algorithms only: with a shared secret, anyone who can verify a token can also forge one. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const clockToleranceSeconds = 30;
/** RFC 9068 requires `at+jwt`, but many servers send `JWT` or nothing. Tokens for other purposes have other types. */
const accessTokenType = /^(application\/)?(at\+)?jwt$/i;
const writingTools = new Set(tools.filter(({ hints }) => !hints.readOnlyHint).map(({ name }) => name));

/**
 * Creates the guard that admits requests with an access token of the issuer for this server; see docs/authorization.md.
 * The token is never passed on.
 */
export function oauthGuard({ issuer, resource, audience, serverFor, proxies }: OAuthRules, log: Log): Guard {
  const keys = issuerKeys(issuer, log, proxies);
  const metadataUrl = getOAuthProtectedResourceMetadataUrl(new URL(resource));
  // Clients add a slash to the address of a whole host.
  const spellings = new URL(resource).pathname === '/' ? [resource, `${resource}/`] : [resource];

  const refuse = (status: number, scope: Scope, message: string, error = ''): Refusal => {
    const challenge = `Bearer resource_metadata="${metadataUrl}", scope="${scope}"${error}`;
    return new Refusal(status, message, { headers: { 'www-authenticate': challenge } });
  };
  const refuseToken = (reason: string): Refusal => {
    const error = `, error="invalid_token", error_description="The access token ${reason}"`;
    return refuse(401, 'heddle:read', `Unauthorized: the access token ${reason}`, error);
  };
  const refuseScope = (scope: Scope): Refusal => {
    const error = `, error="insufficient_scope", error_description="The scope ${scope} is needed"`;
    return refuse(403, scope, `Forbidden: the access token lacks the scope ${scope}`, error);
  };

  const verify = async (token: string): Promise<JWTVerifyResult> => {
    try {
      // Tokens of other issuers must not cause requests to this one.
      if (decodeJwt(token).iss !== issuer) throw refuseToken('comes from another issuer');
      return await jwtVerify(token, keys, {
        issuer,
        audience: audience ?? spellings,
        algorithms,
        clockTolerance: clockToleranceSeconds,
        requiredClaims: ['exp', 'sub'],
      });
    } catch (error) {
      if (error instanceof HeddleError) {
        const headers = { 'retry-after': String(Math.ceil((error.retryAfterMs ?? 0) / 1000)) };
        throw new Refusal(503, 'Service unavailable: the keys of the token issuer cannot be fetched', { headers });
      }
      if (error instanceof errors.JOSEError) throw refuseToken(reasonFor(error));
      if (error instanceof Refusal) throw error;
      // jose rejects keys that are weak or malformed with errors of other kinds.
      log('error', 'a key of the token issuer cannot be used', { error: String(error) });
      throw refuseToken('is signed with a key of its issuer that cannot be used');
    }
  };

  return {
    async identify(request) {
      const token = bearerOf(request);
      if (token === undefined) throw refuse(401, 'heddle:read', 'Unauthorized: an access token is needed');
      const verified = await verify(token);
      const { sub, cnf } = verified.payload;
      if (!accessTokenType.test(verified.protectedHeader.typ ?? 'JWT')) throw refuseToken('is a token of another kind');
      if (cnf !== undefined) throw refuseToken('is bound to a key, which heddle does not check');
      if (typeof sub !== 'string' || sub === '') throw refuseToken('has no subject');
      const createMcpServer = serverFor?.(sub);
      if (serverFor && !createMcpServer) {
        const quoted = escapeInvisible(JSON.stringify(sub.slice(0, 200)));
        throw new Refusal(
          403,
          `Forbidden: no profile for the subject ${quoted}; ask the operator of this server to add it`,
        );
      }
      return { subject: sub, scopes: scopesOf(verified.payload), createMcpServer };
    },

    permit({ scopes: granted }, body) {
      const messages = Array.isArray(body) ? body : [body];
      const scope = messages.some(isWritingCall) ? 'heddle:write' : 'heddle:read';
      if (!granted?.has(scope) && !granted?.has('heddle:write')) throw refuseScope(scope);
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

/** Returns whether a message calls a tool that changes something. No other method changes anything. */
function isWritingCall(message: { method?: unknown; params?: { name?: unknown } } | null): boolean {
  return message?.method === 'tools/call' && writingTools.has(String(message.params?.name));
}

/** Reads the granted scopes: `scope` as in RFC 9068, `scp` as other servers write it, each a string or a list. */
function scopesOf({ scope, scp }: JWTPayload): Set<string> {
  return new Set(
    [scope, scp].flatMap((claim) => (typeof claim === 'string' ? claim.split(' ') : ((claim as string[]) ?? []))),
  );
}

/** Explains why a token is invalid. The text goes into a header, so it contains nothing from the token. */
function reasonFor(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'has expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === 'missing') return `lacks the claim ${error.claim}`;
    if (error.claim === 'aud') return 'is for another audience';
    if (error.claim === 'nbf') return 'is not valid yet';
    return `has a wrong claim ${error.claim}`;
  }
  return ownMember(reasons, error.code) ?? 'is not a signed JWT';
}

const reasons: Record<string, string> = {
  ERR_JOSE_ALG_NOT_ALLOWED: 'is signed with an algorithm that heddle does not accept',
  ERR_JWKS_NO_MATCHING_KEY: 'is signed with a key that its issuer does not have',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'does not say which key of its issuer signed it',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'has a wrong signature',
};
