import { type Answer, ask } from './http-server.ts';

/** A browser at a board that a server shows, without the pages: it keeps cookies, and sends what the pages send. */
export class BoardVisitor {
  readonly cookies = new Map<string, string>();
  /** The last cookies that the server has set, with their attributes. */
  setCookies: string[] = [];
  readonly #url: string;
  readonly #headers: Record<string, string>;

  /**
   * @param url address of the server.
   * @param origin origin of the board as the browser knows it.
   */
  constructor(url: string, origin = new URL(url).origin) {
    this.#url = url;
    this.#headers = { origin, host: new URL(origin).host };
  }

  /** Sends what a page sends, with its headers unless others are given. */
  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#ask(path, { headers: { ...this.#headers, 'content-type': 'application/json', ...headers }, body });
  }

  /** Follows a link. */
  async visit(path: string): Promise<Answer> {
    return this.#ask(path, { method: 'GET', headers: { host: this.#headers.host! } });
  }

  /** Calls a tool as the board does, and returns its result. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
  async call(name: string, args: object, project = 'team/support'): Promise<any> {
    const { status, body } = await this.post(`/board/call?project=${project}`, { name, arguments: args });
    if (status !== 200) throw new Error(`${status} ${body}`);
    return JSON.parse(body);
  }

  async #ask(
    path: string,
    request: { method?: string; headers: Record<string, string>; body?: unknown },
  ): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie && { cookie }), ...request.headers };
    const answer = await ask(`${this.#url}${path}`, { ...request, headers });
    this.setCookies = answer.headers['set-cookie'] ?? [];
    for (const set of this.setCookies) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set)!;
      if (value === '') this.cookies.delete(name!);
      else this.cookies.set(name!, value!);
    }
    return answer;
  }
}

/** Returns the secret in the link that `heddle service invite` has printed. */
export function invitationIn(stdout: string): string {
  const [, token] = /^http\S+\/board\/login#invitation=([\w-]{43})$/m.exec(stdout) ?? [];
  if (token === undefined) throw new Error(`no link: ${stdout}`);
  return token;
}
