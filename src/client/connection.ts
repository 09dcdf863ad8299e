import type { AuthScheme } from '../contract/endpoints.ts';
import { HeddleError } from '../core/errors.ts';

/** The address and the credentials of a service. Operations need one kind of credentials each, so either may be missing. */
export interface Connection {
  /** Base address without a trailing slash. */
  baseUrl: string;
  basic?: { username: string; password: string };
  bearer?: string;
  /** The reason for missing credentials, if known. */
  problem?: HeddleError;
}

const schemes = {
  basic: { label: 'user name and password (Basic)', settings: 'HEDDLE_USERNAME and HEDDLE_PASSWORD' },
  bearer: { label: 'bearer token', settings: 'HEDDLE_TOKEN' },
} as const;

/**
 * Returns the value of the Authorization header.
 * @throws HeddleError `credentials_missing` if the connection lacks the credentials of the scheme.
 */
export function authorization({ baseUrl, basic, bearer, problem }: Connection, scheme: AuthScheme): string {
  if (scheme === 'basic' && basic) {
    return `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}`;
  }
  if (scheme === 'bearer' && bearer) return `Bearer ${bearer}`;
  if (problem) throw problem;
  const { label, settings } = schemes[scheme];
  throw new HeddleError({
    code: 'credentials_missing',
    message: `No ${label} for ${baseUrl}: nothing was sent.`,
    hint: `Ask the user to run \`heddle login\` in a terminal, or to set ${settings} for this server, and then call again.`,
  });
}
