import { expect } from 'vitest';

/** A call as a traced function records it. */
export interface TracedCall {
  id: string;
  started_at: string;
  inputs: object;
  output: unknown;
}

/** Where Python's str.splitlines ends a line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python takes them for ends of lines
const lineEnds = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;

const eventsPerBatch = 10;
const sendersAtOnce = 8;

/**
 * Records and reads calls in the manner of the Python SDK: it sends starts and ends apart, in batches by several threads at once, and
 * a batch once more if its response was lost; it reads lines where Python ends them, also at characters that JSON allows in text.
 */
export class PythonLikeClient {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #project: string;
  /** The number of a sent batch decides whether its response is lost. */
  readonly #isLost: (batch: number) => boolean;
  #sent = 0;

  constructor(url: string, authorization: string, project: string, isLost: (batch: number) => boolean = () => false) {
    this.#url = url;
    this.#headers = { authorization, 'content-type': 'application/json' };
    this.#project = project;
    this.#isLost = isLost;
  }

  /** Records calls. Batches overtake each other, so the end of a call may arrive before its start. */
  async record(calls: readonly TracedCall[]): Promise<void> {
    const shared = { project_id: this.#project, op_name: 'answer', attributes: {} };
    const events = calls.flatMap(({ id, started_at, inputs, output }) => [
      { mode: 'end', req: { end: { project_id: this.#project, id, ended_at: started_at, output, summary: {} } } },
      { mode: 'start', req: { start: { ...shared, id, trace_id: id, started_at, inputs } } },
    ]);
    const batches: object[][] = [];
    while (events.length > 0) batches.push(events.splice(0, eventsPerBatch));
    const send = async (): Promise<void> => {
      for (let batch = batches.pop(); batch; batch = batches.pop()) await this.#send(batch);
    };
    await Promise.all(Array.from({ length: sendersAtOnce }, send));
  }

  async #send(batch: object[]): Promise<void> {
    this.#sent += 1;
    const times = this.#isLost(this.#sent) ? 2 : 1;
    for (let time = 0; time < times; time += 1)
      expect((await this.#post('/call/upsert_batch', { batch })).status).toBe(200);
  }

  #post(path: string, body: object): Promise<Response> {
    return fetch(this.#url + path, { method: 'POST', headers: this.#headers, body: JSON.stringify(body) });
  }

  /** Reads calls as text, a line each. */
  async lines(query: object = {}): Promise<string[]> {
    const response = await this.#post('/calls/stream_query', { project_id: this.#project, ...query });
    expect(response.status).toBe(200);
    return (await response.text()).split(lineEnds).filter(Boolean);
  }
}
