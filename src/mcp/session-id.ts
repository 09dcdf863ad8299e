/*
 * Over HTTP, revisions before 2026-07-28 name the client in `initialize` alone, and nothing is kept between requests. The client
 * repeats the id of its session with each request, so the id carries the name, under which the client's judgements are stored.
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
