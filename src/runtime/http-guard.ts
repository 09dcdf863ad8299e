import { readFileSync, statSync } from 'node:fs';
import { notConfigured } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Redactor } from '../core/secrets/redaction.ts';
import { tokenGuard } from '../mcp/http/guard.ts';
import type { HttpOptions } from '../mcp/http/mcp-http-server.ts';
import type { ServerFactory } from '../mcp/server.ts';
import type { ResolvedSettings } from '../settings/resolve-settings.ts';
import { asHeaderToken } from '../settings/settings.ts';

/** Minimum length of a token that guards an endpoint beyond loopback. */
const minTokenChars = 16;

export interface GuardOptions {
  host: string;
  /** True if only this machine can reach the host. */
  isLoopback: boolean;
  tokenFile?: string | undefined;
  /** Returns what serves a subject; see OAuthRules. */
  serverFor?: ((subject: string) => ServerFactory | undefined) | undefined;
  log: Log;
  redactor: Redactor;
}

/**
 * Creates the guard that the settings ask for: OAuth access tokens, one bearer token, or none on loopback.
 * @throws HeddleError `not_configured` for settings that contradict each other or admit everyone.
 */
export async function createGuard(
  { values, sources }: ResolvedSettings,
  { host, isLoopback, tokenFile, serverFor, log, redactor }: GuardOptions,
): Promise<HttpOptions['guard']> {
  const { oauthIssuer: issuer, oauthAudience: audience, publicUrl } = values;
  const token = tokenFile === undefined ? values.httpToken : readTokenFile(tokenFile);
  redactor.protect(token);
  if (issuer === undefined) {
    const unused = (['oauthAudience', 'subjects'] as const).find((name) => values[name] !== undefined);
    if (unused !== undefined) {
      throw notConfigured(
        `${sources[unused].name} is set, but there is no token issuer.`,
        `Set --oauth-issuer or HEDDLE_OAUTH_ISSUER too, or remove ${sources[unused].name}.`,
      );
    }
    if (!isLoopback) checkToken(token, host);
    return token === undefined ? undefined : () => tokenGuard(token);
  }
  if (token !== undefined) {
    const source = tokenFile === undefined ? sources.httpToken.name : '--token-file';
    throw notConfigured(
      `${source} and ${sources.oauthIssuer.name} are both set, but only one can decide who has access.`,
      'Remove one of them.',
    );
  }
  if (publicUrl === undefined && !isLoopback) {
    throw notConfigured(
      `Listening on ${host} with ${sources.oauthIssuer.name} requires the public URL, which tokens must name.`,
      'Set --public-url or HEDDLE_PUBLIC_URL to the URL that clients use, like https://mcp.example.com/mcp.',
    );
  }
  const { oauthGuard } = await import('../mcp/oauth/oauth-guard.ts');
  return (url) => oauthGuard({ issuer, audience, resource: publicUrl ?? url, serverFor, proxies: values }, log);
}

/** Checks the token of an endpoint that other machines can reach. */
function checkToken(token: string | undefined, host: string): void {
  if (token === undefined) {
    throw notConfigured(
      `Listening on ${host} without a token would let everyone on the network use the service.`,
      'Set HEDDLE_HTTP_TOKEN, --token-file or --oauth-issuer, or listen on 127.0.0.1.',
    );
  }
  if (token.length >= minTokenChars) return;
  throw notConfigured(
    `A token of ${token.length} characters is too easy to guess for listening on ${host}.`,
    `Use at least ${minTokenChars} characters: \`openssl rand -hex 32\` generates a token.`,
  );
}

/**
 * Reads the token in a file.
 * @throws HeddleError `not_configured` when other users can read the file, or it holds no token.
 */
function readTokenFile(file: string): string {
  try {
    // Windows has no such mode bits; there the permissions of the folder decide.
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) throw new Error('other users can read it');
    return asHeaderToken(readFileSync(file, 'utf8').trim());
  } catch (error) {
    throw notConfigured(
      `The token file ${file} cannot be used: ${(error as Error).message}.`,
      'Write only the token into a file that only you can read (chmod 600).',
    );
  }
}
