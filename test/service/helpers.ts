import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openStore, type RunningService, type ServiceOptions, startService } from '../../src/service/index.ts';
import { account, basic, bearer } from './account.ts';

export { account, basic, bearer };

/** A path in a folder of its own that goes away after the test file. */
export function temporaryFile(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-service-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what came back is looked at, not trusted
  body: any;
}

export class TestService {
  readonly running: RunningService;
  readonly dataFile: string;

  constructor(running: RunningService, dataFile: string) {
    this.running = running;
    this.dataFile = dataFile;
  }

  async send(method: string, path: string, authorization: string | undefined, body?: unknown): Promise<Answer> {
    const response = await fetch(this.running.url + path, {
      method,
      headers: { ...(authorization && { authorization }), 'content-type': 'application/json' },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
  }

  query(queue: string, body: unknown): Promise<Answer> {
    return this.send('POST', `/annotation_queues/${queue}/items/query`, basic, body);
  }

  infer(body: unknown, path = '/chat/completions'): Promise<Answer> {
    return this.send('POST', `/inference/v1${path}`, bearer, body);
  }

  evaluate(project: string, body: unknown): Promise<Answer> {
    return this.send('POST', `/v2/${project}/evaluations`, basic, body);
  }

  /** Messages that the echo model says it received. */
  async echoed(request: Record<string, unknown>): Promise<unknown> {
    const { status, body } = await this.infer({ model: 'heddle/echo', ...request });
    if (status !== 200) throw new Error(JSON.stringify(body));
    const content: string = body.choices[0].message.content;
    return JSON.parse(content.slice(content.indexOf('\n') + 1));
  }
}

/** A service on a file of its own that ends after the test file. */
export async function startTestService(options: Partial<ServiceOptions> = {}): Promise<TestService> {
  const dataFile = options.dataFile ?? temporaryFile('data/heddle.db');
  const running = await startService({ dataFile, account, ...options });
  afterAll(() => running.close());
  return new TestService(running, dataFile);
}

export async function withStore<T>(
  dataFile: string,
  use: (store: Awaited<ReturnType<typeof openStore>>) => Promise<T>,
): Promise<T> {
  const store = await openStore(dataFile);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
