import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { annotationFeedbackType } from '../../src/contract/feedback.ts';
import { objectReference } from '../../src/contract/references.ts';
import { type Client, createClient } from '../../src/library.ts';
import { openServiceStore, type RunningService, type Store, startService } from '../../src/service/start-service.ts';

/** The default project of every job. */
export const project = 'acme/support';

/** A recorded call for a queue. */
export interface RecordedItem {
  call_id: string;
  op_name?: string;
  inputs: Record<string, unknown>;
  output: unknown;
}

export interface QueueContents {
  name: string;
  guidelines?: string;
  /** JSON Schema of the values by field. */
  fields?: Record<string, Record<string, unknown>>;
  /** The oldest call first. */
  items: readonly RecordedItem[];
  /** Paths of the values to judge. */
  displayFields?: readonly string[];
}

/** A queue whose items annotators can judge. */
export interface SeededQueue {
  id: string;
  /** Stores judgements of an annotator. */
  judge: (
    annotator: string,
    field: string,
    values: readonly (readonly [callId: string, value: unknown])[],
  ) => Promise<void>;
  /** Moves the items of these calls on behalf of an annotator. */
  move: (
    annotator: string,
    callIds: readonly string[],
    state: 'in_progress' | 'completed' | 'skipped',
  ) => Promise<void>;
}

/** The account that prepares data and reads the end state. */
const bench = 'bench';

/**
 * A home of its own with the embedded service's data. heddle, which the model uses, starts its own process on that data; the
 * service here is for the other annotators and for the check.
 */
export class Workspace {
  readonly home: string;
  readonly #store: Store;
  readonly #running: RunningService;
  readonly #clients = new Map<string, Client>();

  private constructor(home: string, store: Store, running: RunningService) {
    this.home = home;
    this.#store = store;
    this.#running = running;
  }

  /** Creates an empty home. */
  static async open(): Promise<Workspace> {
    const home = await mkdtemp(join(tmpdir(), 'heddle-agent-'));
    const data = join(home, 'data', 'heddle.db');
    const store = await openServiceStore(data);
    return new Workspace(home, store, await startService({ data }));
  }

  /** The environment of the heddle that works on this data: nothing of this machine but PATH. */
  get environment(): Record<string, string> {
    const homes = ['HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR'];
    return {
      ...Object.fromEntries(homes.map((name) => [name, this.home])),
      PATH: process.env.PATH ?? '',
      HEDDLE_DATA_DIR: join(this.home, 'data'),
      HEDDLE_PROJECT: project,
    };
  }

  /** Returns the client that reads and writes for the bench itself. */
  client(): Promise<Client> {
    return this.#clientOf(bench);
  }

  /** Returns a client with the account of this name, which is created if it is new. */
  async #clientOf(name: string): Promise<Client> {
    const known = this.#clients.get(name);
    if (known) return known;
    // heddle judges as the operating system's user, who must not be taken for one of the others.
    if (userInfo().username === name)
      throw new Error(`The benchmark cannot run as the user ${name}, a name in its data.`);
    const { password, token } = await this.#store.addUser(name, 'all');
    const client = createClient({ baseUrl: this.#running.url, username: name, password, token });
    this.#clients.set(name, client);
    return client;
  }

  /** True unless this is the model's account. */
  isSeeded(account: string | null | undefined): boolean {
    return account === undefined || account === null || account === '' || this.#clients.has(account);
  }

  /** Creates a queue with fields and items. The calls started a minute apart. */
  async addQueue({
    name,
    guidelines = '',
    fields = {},
    items,
    displayFields = ['inputs', 'output'],
  }: QueueContents): Promise<SeededQueue> {
    const client = await this.client();
    const references = new Map<string, string>();
    for (const [field, field_schema] of Object.entries(fields)) {
      const { digest } = await client.call('createObject', {
        body: {
          obj: {
            project_id: project,
            object_id: field,
            val: { name: field, field_schema },
            builtin_object_class: 'AnnotationSpec',
          },
        },
      });
      references.set(field, objectReference(project, field, digest));
    }
    const scorer_refs = [...references.values()];
    const { id } = await client.call('createQueue', {
      body: { project_id: project, name, description: guidelines, scorer_refs },
    });
    const lines = items.map(({ call_id, op_name = 'support.answer', ...call }, index) => {
      const startedAt = Date.UTC(2026, 2, 2) + index * 60_000;
      return JSON.stringify({
        call_id,
        call_op_name: op_name,
        call_trace_id: `trace-of-${call_id}`,
        call_started_at: new Date(startedAt).toISOString(),
        call_ended_at: new Date(startedAt + 1_250).toISOString(),
        display_fields: displayFields,
        call,
      });
    });
    await this.#store.importItems(lines, { projectId: project, queueId: id, addedBy: bench });
    return { id, ...this.#annotatorsOf(id, references) };
  }

  #annotatorsOf(queueId: string, references: ReadonlyMap<string, string>): Omit<SeededQueue, 'id'> {
    return {
      judge: async (annotator, field, values) => {
        const client = await this.#clientOf(annotator);
        await client.call('createFeedbackBatch', {
          body: {
            batch: values.map(([callId, value]) => ({
              id: randomUUID(),
              project_id: project,
              weave_ref: `weave:///${project}/call/${callId}`,
              feedback_type: annotationFeedbackType(field),
              annotation_ref: references.get(field)!,
              payload: { value },
              queue_id: queueId,
              creator: annotator,
            })),
          },
        });
      },
      move: async (annotator, callIds, annotation_state) => {
        const client = await this.#clientOf(annotator);
        const { items } = await client.call('queryQueueItems', {
          path: { queue_id: queueId },
          body: { project_id: project, limit: 1000 },
        });
        for (const { id } of items.filter(({ call_id }) => callIds.includes(call_id))) {
          await client.call('updateProgress', {
            path: { queue_id: queueId, item_id: id },
            body: { project_id: project, annotation_state },
          });
        }
      },
    };
  }

  /** Stores a dataset and returns its reference. */
  async addDataset(name: string, rows: readonly Record<string, unknown>[]): Promise<string> {
    const { reference } = await this.#store.putObject('dataset', project, name, rows);
    return reference;
  }

  /** Stops the service and removes the home. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
    await this.#running.close();
    await this.#store.close();
    await rm(this.home, { recursive: true, force: true, maxRetries: 10 });
  }
}
