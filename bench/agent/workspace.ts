import { randomBytes, randomUUID } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { annotationFeedbackType } from '../../src/contract/feedback.ts';
import { objectReference } from '../../src/contract/references.ts';
import { type Client, createClient } from '../../src/library.ts';
import {
  type Account,
  backUpData,
  openServiceStore,
  type RunningService,
  type Store,
  startService,
} from '../../src/service/start-service.ts';
import { type ModelProvider, type ReplyOfModel, startModelProvider } from './model-provider.ts';

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

/** A queue of calls that are recorded already. */
export type QueueOfCalls = Omit<QueueContents, 'items'> & { callIds: readonly string[] };

/** The account that prepares data and reads the end state. */
const bench = 'bench';

/** The account of heddle: the user of the operating system, for whom and as whom the model works. */
export const userAccount: string = userInfo().username;

function newAccount(name: string): Account {
  return { name, password: randomBytes(16).toString('hex'), token: randomBytes(16).toString('hex') };
}

function clientFor({ url }: RunningService, { name, password, token }: Account): Client {
  return createClient({ baseUrl: url, username: name, password, token });
}

/**
 * A home of its own with the embedded service's data. heddle, which the model uses, starts its own process on that data; the
 * service here is for the other annotators and for the check.
 */
export class Workspace {
  readonly home: string;
  readonly #store: Store;
  readonly #running: RunningService;
  readonly #clients = new Map<string, Client>();
  #user: { running: RunningService; client: Client } | undefined;
  #models: ModelProvider | undefined;

  private constructor(home: string, store: Store, running: RunningService, client: Client) {
    this.home = home;
    this.#store = store;
    this.#running = running;
    this.#clients.set(bench, client);
  }

  /**
   * Creates a home.
   * @param template data file to begin with; without it, the home is empty.
   */
  static async open(template?: string): Promise<Workspace> {
    const home = await mkdtemp(join(tmpdir(), 'heddle-agent-'));
    const data = dataFileIn(home);
    if (template !== undefined) {
      await mkdir(join(home, 'data'));
      await copyFile(template, data);
    }
    const store = await openServiceStore(data);
    const account = newAccount(bench);
    const running = await startService({ data, account });
    return new Workspace(home, store, running, clientFor(running, account));
  }

  get #dataFile(): string {
    return dataFileIn(this.home);
  }

  /** The environment of the heddle that works on this data: nothing of this machine but PATH. */
  get environment(): Record<string, string> {
    const homes = ['HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR'];
    return {
      ...Object.fromEntries(homes.map((name) => [name, this.home])),
      PATH: process.env.PATH ?? '',
      HEDDLE_DATA_DIR: join(this.home, 'data'),
      HEDDLE_PROJECT: project,
      ...(this.#models && { HEDDLE_MODEL_PROVIDER_URL: this.#models.url }),
    };
  }

  /** Returns the client that reads and writes for the bench itself. */
  client(): Promise<Client> {
    return this.#clientOf(bench);
  }

  /** Starts the models that heddle can ask besides heddle/echo; returns the requests that they get. */
  async startModels(models: readonly string[], reply: ReplyOfModel): Promise<ModelProvider['asked']> {
    this.#models = await startModelProvider(models, reply);
    return this.#models.asked;
  }

  /** Returns a client with the account of this name, which is created if it is new. */
  async #clientOf(name: string): Promise<Client> {
    const known = this.#clients.get(name);
    if (known) return known;
    // heddle judges as the operating system's user, who must not be taken for one of the others.
    if (userAccount === name) throw new Error(`The benchmark cannot run as the user ${name}, a name in its data.`);
    const client = clientFor(this.#running, await this.#store.addUser(name, 'all'));
    this.#clients.set(name, client);
    return client;
  }

  /** Returns a client with the account of the user, for what they did before the model comes. */
  async userClient(): Promise<Client> {
    if (!this.#user) {
      // The account of the user is not stored; each process of heddle brings it along.
      const account = newAccount(userAccount);
      const running = await startService({ data: this.#dataFile, account });
      this.#user = { running, client: clientFor(running, account) };
    }
    return this.#user.client;
  }

  /** True unless this is the model's account. */
  isSeeded(account: string | null | undefined): boolean {
    return account === undefined || account === null || account === '' || this.#clients.has(account);
  }

  /** Creates an empty queue with fields; returns its id and the references to its fields. */
  async #createQueue({ name, guidelines = '', fields = {} }: Omit<QueueContents, 'items'>) {
    const client = await this.client();
    const references = new Map<string, string>();
    for (const [field, field_schema] of Object.entries(fields)) {
      const val = { name: field, field_schema };
      references.set(field, await this.addObject(field, 'AnnotationSpec', val));
    }
    const scorer_refs = [...references.values()];
    const { id } = await client.call('createQueue', {
      body: { project_id: project, name, description: guidelines, scorer_refs },
    });
    return { id, references };
  }

  /** Creates a queue of calls that are recorded already. */
  async addQueueOfCalls({
    callIds,
    displayFields = ['inputs', 'output'],
    ...queue
  }: QueueOfCalls): Promise<SeededQueue> {
    const { id, references } = await this.#createQueue(queue);
    const client = await this.client();
    await client.call('addQueueItems', {
      path: { queue_id: id },
      body: { project_id: project, call_ids: [...callIds], display_fields: [...displayFields] },
    });
    return { id, ...this.#annotatorsOf(id, references) };
  }

  /** Creates a queue with fields and items. The calls started a minute apart. */
  async addQueue({ items, displayFields = ['inputs', 'output'], ...queue }: QueueContents): Promise<SeededQueue> {
    const { id, references } = await this.#createQueue(queue);
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
        const client = annotator === userAccount ? await this.userClient() : await this.#clientOf(annotator);
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

  /** Stores an object and returns the reference to it. */
  async addObject(object_id: string, builtin_object_class: string, val: Record<string, unknown>): Promise<string> {
    const client = await this.client();
    const { digest } = await client.call('createObject', {
      body: { obj: { project_id: project, object_id, val, builtin_object_class } },
    });
    return objectReference(project, object_id, digest);
  }

  /** Runs an evaluation to its end. */
  async runEvaluation(evaluation_ref: string, model_ref: string): Promise<void> {
    const client = await this.client();
    const { call_id } = await client.call('evaluateModel', {
      body: { project_id: project, evaluation_ref, model_ref },
    });
    for (;;) {
      const { status } = await client.call('evaluationStatus', { body: { project_id: project, call_id } });
      if (status.code === 'complete') return;
      if (status.code !== 'running') throw new Error(`The evaluation of the data ended as ${status.code}.`);
      await setTimeout(20);
    }
  }

  /** Stores a dataset and returns its reference. */
  async addDataset(name: string, rows: readonly Record<string, unknown>[]): Promise<string> {
    const { reference } = await this.#store.putObject('dataset', project, name, rows);
    return reference;
  }

  /** Copies the data to a new file. */
  async copyTo(file: string): Promise<void> {
    await backUpData(this.#dataFile, file);
  }

  /** Stops the service and removes the home. */
  async close(): Promise<void> {
    const clients = [...this.#clients.values(), ...(this.#user ? [this.#user.client] : [])];
    await Promise.all(clients.map((client) => client.close()));
    await this.#user?.running.close();
    await this.#running.close();
    await this.#store.close();
    await this.#models?.close();
    await rm(this.home, { recursive: true, force: true, maxRetries: 10 });
  }
}

function dataFileIn(home: string): string {
  return join(home, 'data', 'heddle.db');
}
