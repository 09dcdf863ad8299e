import type { AuthScheme } from '../contract/endpoints.ts';
import { HeddleError } from '../core/errors.ts';

/** What it takes to reach a service. Either secret may be missing: they belong to different operations. */
export interface Connection {
  /** Base address without a slash at its end. */
  baseUrl: string;
  basic?: { username: string; password: string };
  bearer?: string;
  /** Why what is missing is missing, where more is known than that. */
  problem?: HeddleError;
}

/**
 * The Authorization header of an operation (interface part 5).
 * @throws HeddleError `credentials_missing` when the connection lacks what the scheme needs.
 */
export function authorization(connection: Connection, scheme: AuthScheme): string {
  if (scheme === 'basic' && connection.basic) {
    const { username, password } = connection.basic;
    return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
  }
  if (scheme === 'bearer' && connection.bearer) return `Bearer ${connection.bearer}`;
  if (connection.problem) throw connection.problem;
  const [what, names] =
    scheme === 'basic'
      ? ['user name and password (Basic)', 'HEDDLE_USERNAME and HEDDLE_PASSWORD']
      : ['bearer token', 'HEDDLE_TOKEN'];
  throw new HeddleError({
    code: 'credentials_missing',
    message: `No ${what} for ${connection.baseUrl}: nothing was sent.`,
    hint: `Ask the user to run \`heddle login\` in a terminal, or to set ${names} for this server, and then call again.`,
  });
}
