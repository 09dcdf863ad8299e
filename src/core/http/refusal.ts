/** Thrown to answer an HTTP request with an error status. */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** The JSON body to send instead of the server's usual form of an error. */
  readonly body: unknown;

  /** @param message one sentence that says what the client did wrong, without secrets or internals. */
  constructor(
    status: number,
    message: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: unknown } = {},
  ) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}
