/** An answer other than success that a handler decides on: its status and exact body. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Record<string, string>;

  constructor(status: number, body: unknown, headers: Record<string, string> = {}) {
    super(`refused with status ${status}`);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** A refusal in the service's usual form, `{"reason": …}`. */
export function refusal(status: number, reason: string): Refusal {
  return new Refusal(status, { reason });
}
