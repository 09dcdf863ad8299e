/** A request that a server of heddle answers with an error status instead of serving it. */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** The JSON body to send, where the server's usual form of an error does not fit. */
  readonly body: unknown;

  /** @param message what the client did wrong, in one sentence without a secret or anything of the inside. */
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
