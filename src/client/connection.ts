import { type AuthScheme, type Endpoint, inferencePrefix } from '../contract/endpoint.ts';
import { HeddleError } from '../core/errors.ts';

/** The address and the credentials of a service. Operations need one kind of credentials each, so either may be missing. */
export interface Connection {
  /** Base address without a trailing slash. */
  baseUrl: string;
  /** Address of inference without a trailing slash, in place of the base URL and `/inference/v1`. */
  inferenceUrl?: string;
  basic?: { username: string; password: string };
  bearer?: string;
  /** Name that the service gives the account in feedback, if it is known. */
  userId?: string;
  /** The reason for missing credentials, if known. */
  problem?: HeddleError;
}

/** The address of an endpoint: its base address, and the path template below it. */
export interface EndpointAddress {
  baseUrl: string;
  template: string;
  /** The setting that holds the address. */
  setting: 'base URL' | 'inference URL';
}

/** Returns the address of inference if it is not the base URL and `/inference/v1`. */
export function ownInferenceUrl(connection: Pick<Connection, 'baseUrl' | 'inferenceUrl'>): string | undefined {
  const { baseUrl, inferenceUrl } = connection;
  return inferenceUrl === baseUrl + inferencePrefix ? undefined : inferenceUrl;
}

/** Returns the address of an endpoint at a service whose inference may be elsewhere. */
export function addressOf({ path }: Endpoint, connection: Connection): EndpointAddress {
  const inferenceUrl = path.startsWith(inferencePrefix) ? ownInferenceUrl(connection) : undefined;
  if (inferenceUrl === undefined) return { baseUrl: connection.baseUrl, template: path, setting: 'base URL' };
  const { origin, pathname } = new URL(inferenceUrl);
  const template = pathname.replace(/\/$/, '') + path.slice(inferencePrefix.length);
  return { baseUrl: origin, template, setting: 'inference URL' };
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
    hint: `Ask the user to run \`heddle login\` in a terminal, or set ${settings} for this server, and then call again.`,
  });
}
