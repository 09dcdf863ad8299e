import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse, serialize } from 'hono/utils/cookie';
import { ownMember } from '../../core/json/member-at.ts';

/** Seconds in which a login at an issuer must be finished. */
export const pendingSeconds = 600;

/** The cookies of the board: `session` of a browser that is logged in, `login` of one whose person is at the issuer. */
export type BoardCookie = 'session' | 'login';

/**
 * Reads and sets the cookies of the board. Over https, their names have the prefix `__Host-`: no other site, not even a neighbour under
 * the same domain, can set them.
 */
export class BoardCookies {
  readonly #isSecure: boolean;

  constructor(isSecure: boolean) {
    this.#isSecure = isSecure;
  }

  read({ headers: { cookie = '' } }: IncomingMessage, kind: BoardCookie): string | undefined {
    const name = this.#nameOf(kind);
    return ownMember(parse(cookie, name), name) || undefined;
  }

  /** Sets a cookie; an empty value removes it. */
  set(response: ServerResponse, kind: BoardCookie, value: string, maxAge: number): void {
    const options = {
      path: '/',
      httpOnly: true,
      secure: this.#isSecure,
      // The issuer sends the person back with a link, which carries no strict cookies.
      sameSite: kind === 'login' ? ('Lax' as const) : ('Strict' as const),
      maxAge,
    };
    response.appendHeader('set-cookie', serialize(this.#nameOf(kind), value, options));
  }

  #nameOf(kind: BoardCookie): string {
    return `${this.#isSecure ? '__Host-' : ''}heddle-${kind}`;
  }
}
