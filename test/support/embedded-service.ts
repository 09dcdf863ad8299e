import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import pg from 'pg';
import {
  openServiceStore,
  type RunningService,
  type ServiceOptions,
  startService,
} from '../../src/service/start-service.ts';
import { loadSqlite, openConnection } from '../../src/service/storage/sqlite/sqlite-connection.ts';
import { temporaryFolder } from './heddle.ts';
import { onEnd } from './on-end.ts';
import { account, basic, bearer } from './test-account.ts';

export { account, basic, bearer };

const server = process.env.HEDDLE_TEST_DATABASE_URL;

/** True if the tests keep their data in the PostgreSQL server that HEDDLE_TEST_DATABASE_URL names, instead of in files. */
export const onPostgres = server !== undefined;

/**
 * Creates an empty storage, a database or a data file, and removes it at the end of the test.
 * @param template the database that is copied; `template1` has the tables already.
 */
export async function temporaryData(template: 'template0' | 'template1' = 'template0'): Promise<string> {
  if (server === undefined) return temporaryFile('data/heddle.db');
  const name = `heddle_${randomUUID().replaceAll('-', '')}`;
  await execute(server, `create database ${name} template ${template}`);
  // `force` ends connections that a test left open.
  onEnd(() => execute(server, `drop database ${name} with (force)`));
  return Object.assign(new URL(server), { pathname: name }).href;
}

/** Returns the setting that makes heddle use a storage. */
export function storedIn(data: string): Record<string, string> {
  return onPostgres ? { HEDDLE_DATABASE_URL: data } : { HEDDLE_DATA_DIR: dirname(data) };
}

/** Runs a statement directly in a storage and returns its rows. */
export async function execute(data: string, sql: string): Promise<Record<string, unknown>[]> {
  if (!data.startsWith('postgres')) {
    const connection = openConnection(await loadSqlite(), data);
    connection.exec('pragma busy_timeout = 5000');
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

/** Runs statements in a data file and closes it, which `execute` does on Node 20 only when its statement is collected. */
export async function changeFile(file: string, sql: string): Promise<void> {
  const connection = openConnection(await loadSqlite(), file);
  connection.exec('pragma busy_timeout = 5000');
  connection.exec(sql);
  connection.close();
}

/** Returns the SQL expression of a text of this length, for values that take long to send. */
export function longText(chars: number): string {
  return onPostgres ? `repeat('x', ${chars})` : `printf('%.*c', ${chars}, 'x')`;
}

/** Returns the path of a file in a new temporary folder. */
export function temporaryFile(name: string): string {
  return join(temporaryFolder(), name);
}

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
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

  /** Sends a form to `POST /file/create`; a text `file` becomes a file with this content. */
  async upload(authorization: string | undefined, form: Record<string, string | Blob>): Promise<Answer> {
    const body = new FormData();
    for (const [name, value] of Object.entries(form)) {
      if (name === 'file') body.append(name, new Blob([value]));
      else body.append(name, value as string);
    }
    const headers: Record<string, string> = authorization ? { authorization } : {};
    const response = await fetch(`${this.running.url}/file/create`, { method: 'POST', headers, body });
    return { status: response.status, headers: response.headers, body: await response.json() };
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

  /** Returns the messages that the echo model received. */
  async echoed(request: Record<string, unknown>): Promise<unknown> {
    const { status, body } = await this.infer({ model: 'heddle/echo', ...request });
    if (status !== 200) throw new Error(JSON.stringify(body));
    const content: string = body.choices[0].message.content;
    return JSON.parse(content.slice(content.indexOf('\n') + 1));
  }
}

/** Starts the embedded service in this process, on an empty storage. It stops at the end of the test. */
export async function startTestService(options: Partial<ServiceOptions> = {}): Promise<TestService> {
  const data = options.data ?? (await temporaryData('template1'));
  const running = await startService({ data, account, ...options });
  onEnd(() => running.close());
  return new TestService(running, data);
}

/** Opens a store for the duration of `use`. */
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
