import { readFileSync, statSync } from 'node:fs';
import { HeddleError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Observer } from '../core/observer.ts';
import type { Redactor } from '../core/redaction.ts';
import { tokenGuard } from '../mcp/http/access.ts';
import { type HttpOptions, resolveHost } from '../mcp/http/serve-http.ts';
import type { Inputs, ResolvedSettings } from '../settings/resolve-settings.ts';
import { asHeaderToken } from '../settings/settings.ts';
import type { HttpFlags } from './http-server.ts';
import { Subjects } from './subjects.ts';

/** Characters of a token that may guard an endpoint beyond loopback. */
const leastToken = 16;

/**
 * The guard that the settings ask for, if any, and the subjects that it lets in, where a file names them.
 * @throws HeddleError `not_configured` for settings that do not go together.
 */
export async function guardOf(
  resolved: ResolvedSettings,
  inputs: Pick<Inputs, 'flags' | 'environment'>,
  { host, tokenFile }: Pick<HttpFlags, 'host' | 'tokenFile'>,
  told: { log: Log; observer: Observer | undefined; redactor: Redactor },
): Promise<{ guard?: HttpOptions['guard']; subjects?: Subjects }> {
  const { values, sources } = resolved;
  const { oauthIssuer: issuer, oauthAudience: audience, publicUrl } = values;
  const token = tokenFile === undefined ? values.httpToken : readTokenFile(tokenFile);
  if (issuer === undefined) {
    const idle = (['oauthAudience', 'subjects'] as const).find((name) => values[name] !== undefined);
    if (idle !== undefined) {
      throw mismatch(
        `${sources[idle].name} is set, but no issuer whose tokens it is about.`,
        'Set --oauth-issuer or HEDDLE_OAUTH_ISSUER too, or leave it away.',
      );
    }
    if (token === undefined) return {};
    if (token.length < leastToken && !(await resolveHost(host)).loopback) {
      throw mismatch(
        `Listening on ${host} with a token of ${token.length} characters: others can guess it.`,
        `Take one of ${leastToken} characters or more: \`openssl rand -hex 32\` makes one.`,
      );
    }
    return { guard: () => tokenGuard(token) };
  }
  if (token !== undefined) {
    const given = tokenFile === undefined ? sources.httpToken.name : '--token-file';
    throw mismatch(
      `${given} and ${sources.oauthIssuer.name} are both set, and each says who may come in.`,
      'Leave one of them away.',
    );
  }
  if (publicUrl === undefined && !(await resolveHost(host)).loopback) {
    throw mismatch(
      `Listening on ${host} with ${sources.oauthIssuer.name}, tokens must name the address of the endpoint, which is not known.`,
      'Set --public-url or HEDDLE_PUBLIC_URL to what clients connect to, like https://mcp.example.com/mcp.',
    );
  }
  const subjects = values.subjects === undefined ? undefined : new Subjects(values.subjects, inputs, resolved, told);
  const serverFor = subjects && ((subject: string) => subjects.serverFor(subject));
  const { oauthGuard } = await import('../mcp/oauth/guard.ts');
  return {
    guard: (url) => oauthGuard({ issuer, audience, resource: publicUrl ?? url, serverFor }, told.log),
    subjects,
  };
}

function mismatch(message: string, hint: string): HeddleError {
  return new HeddleError({ code: 'not_configured', message, hint });
}

/**
 * The token in a file.
 * @throws HeddleError `not_configured` when others may read the file, or it holds no token.
 */
function readTokenFile(file: string): string {
  try {
    // Windows has no such mode bits: there the folder's permissions decide.
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) throw new Error('others can read it');
    return asHeaderToken(readFileSync(file, 'utf8').trim());
  } catch (cause) {
    throw new HeddleError({
      code: 'not_configured',
      message: `The token file ${file} cannot be used: ${(cause as Error).message}.`,
      hint: 'Write the token into a file that only you can read (chmod 600), and nothing else.',
      cause,
    });
  }
}
