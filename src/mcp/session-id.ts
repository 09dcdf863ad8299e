/*
 * Over HTTP, revisions before 2026-07-28 name the client in `initialize` alone, and nothing is kept between requests. So the id of a
 * session, which the client repeats with each request, has that name: judgements of several clients are told apart by it.
 */

export const sessionHeader = 'mcp-session-id';

/** Length at which the name of a client is cut. */
const maxNameChars = 100;

/** Returns a new session id for a client with a name. */
export function sessionIdOf(clientName: string): string {
  return `${crypto.randomUUID()}.${Buffer.from(clientName.slice(0, maxNameChars)).toString('base64url')}`;
}

/** Returns the name of the client to which a session id was given; undefined without one. */
export function clientNameIn(headers: Headers | undefined): string | undefined {
  const [, name] = /^[^.]+\.([\w-]{1,600})$/.exec(headers?.get(sessionHeader) ?? '') ?? [];
  return name && Buffer.from(name, 'base64url').toString().slice(0, maxNameChars);
}
