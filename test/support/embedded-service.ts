import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { afterAll } from 'vitest';
import { openServiceStore, type RunningService, type ServiceOptions, startService } from '../../src/service/index.ts';
import { loadSqlite, openConnection } from '../../src/service/storage/sqlite/connection.ts';
import { account, basic, bearer } from './account.ts';

export { account, basic, bearer };

const server = process.env.HEDDLE_TEST_DATABASE_URL;

/** Whether the tests keep their data in a PostgreSQL server, which HEDDLE_TEST_DATABASE_URL names, instead of files. */
export const onPostgres = server !== undefined;

/** An empty storage, a database or a file of its own, that goes away after the test file. */
export async function temporaryData(): Promise<string> {
  if (server === undefined) return temporaryFile('data/heddle.db');
  const name = `heddle_${randomUUID().replaceAll('-', '')}`;
  await execute(server, `create database ${name}`);
  // What a test left running must not keep it.
  afterAll(() => execute(server, `drop database ${name} with (force)`));
  return Object.assign(new URL(server), { pathname: name }).href;
}

/** The setting that makes the command use a storage. */
export function storedIn(data: string): Record<string, string> {
  return onPostgres ? { HEDDLE_DATABASE_URL: data } : { HEDDLE_DATA_DIR: dirname(data) };
}

/** Rows of a statement in a storage, past the service. */
export async function execute(data: string, sql: string): Promise<Record<string, unknown>[]> {
  if (!data.startsWith('postgres')) {
    const connection = openConnection(await loadSqlite(), data);
    try {
      return connection.prepare(sql).all() as Record<string, unknown>[];
    } finally {
      connection.close();
    }
  }
  const client = new pg.Client(data);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

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
  readonly data: string;

  constructor(running: RunningService, data: string) {
    this.running = running;
    this.data = data;
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

/** A service on a storage of its own that ends after the test file. */
export async function startTestService(options: Partial<ServiceOptions> = {}): Promise<TestService> {
  const data = options.data ?? (await temporaryData());
  const running = await startService({ data, account, ...options });
  afterAll(() => running.close());
  return new TestService(running, data);
}

export async function withStore<T>(
  data: string,
  use: (store: Awaited<ReturnType<typeof openServiceStore>>) => Promise<T>,
): Promise<T> {
  const store = await openServiceStore(data);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
