import {
  type InputRequiredResult,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
} from '@modelcontextprotocol/server';

/** Ended tasks are kept for this time. */
const ttlMs = 60 * 60 * 1000;
const pollIntervalMs = 1000;
/** Tasks that are kept. While so many are at work, further calls are answered when they end, as without the extension. */
const maxTasks = 1000;

/** Tools whose calls may take minutes: every one, or those with a filter. */
const longTools = new Map<string, 'always' | 'with filter'>([
  ['run_evaluation', 'always'],
  ['update_queue_items', 'with filter'],
  ['add_queue_items', 'with filter'],
]);

/** Returns whether a call may take so long that a client with tasks should not wait for its answer. */
export function mayTakeLong(tool: string, args: Record<string, unknown> = {}): boolean {
  const when = longTools.get(tool);
  return when !== undefined && args.dry_run !== true && (when === 'always' || args.filter !== undefined);
}

/** Returns the arguments with which a tool goes on with work that its result says is not finished. */
export function continuationOf(data: object, { project_id }: Record<string, unknown> = {}): object | undefined {
  const { status, run_id } = data as { status?: unknown; run_id?: unknown };
  return status === 'running' && run_id !== undefined ? { run_id, project_id } : undefined;
}

/** The answers to questions, by the keys of these. */
type Answers = Record<string, unknown>;

/** The circumstances of a tool call that is a task. */
export interface TaskRun {
  /** Aborts when the client cancels the task. */
  signal: AbortSignal;
  /** What the user has answered so far. */
  responses: Answers;
  /** Tells the client how far the work is. */
  report: (statusMessage: string) => void;
}

/** Runs a tool to its result, or to a question, whose answer starts it again. */
type Work = (run: TaskRun) => Promise<Result | InputRequiredResult>;

/** A task in the form of the extension. */
interface TaskFacts {
  taskId: string;
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  ttlMs: number;
  pollIntervalMs: number;
  inputRequests?: InputRequiredResult['inputRequests'];
  result?: Result;
  error?: { code: number; message: string };
}

interface Task {
  facts: TaskFacts;
  work: Work;
  responses: Answers;
  controller: AbortController;
}

const isOpen = ({ facts: { status } }: Task): boolean => status === 'working' || status === 'input_required';

/**
 * The tool calls that go on after their answer, by the extension `io.modelcontextprotocol/tasks`. They belong to this process
 * and end with it; who knows the id of a task may read and cancel it.
 */
export class TaskStore {
  readonly #tasks = new Map<string, Task>();

  /** Starts a task, and returns the answer to its call; undefined if too many are at work. */
  start(work: Work): (TaskFacts & { resultType: 'task' }) | undefined {
    if (!this.#makeRoom()) return undefined;
    const now = new Date().toISOString();
    const times = { createdAt: now, lastUpdatedAt: now, ttlMs, pollIntervalMs };
    const facts: TaskFacts = { taskId: crypto.randomUUID(), status: 'working', ...times };
    const task = { facts, work, responses: {}, controller: new AbortController() };
    this.#tasks.set(facts.taskId, task);
    void run(task);
    return { ...facts, resultType: 'task' };
  }

  /** Returns a task as it is now. @throws ProtocolError for an unknown task. */
  get(taskId: string): TaskFacts {
    return this.#require(taskId).facts;
  }

  /** Goes on with a task whose questions are answered. Answers to anything else are ignored. @throws ProtocolError for an unknown task. */
  update(taskId: string, responses: Answers): void {
    const task = this.#require(taskId);
    const asked = Object.keys(task.facts.inputRequests ?? {});
    if (task.facts.status !== 'input_required' || !asked.every((key) => Object.hasOwn(responses, key))) return;
    task.responses = { ...task.responses, ...responses };
    change(task, { status: 'working' });
    void run(task);
  }

  /** Cancels a task unless it has ended. @throws ProtocolError for an unknown task. */
  cancel(taskId: string): void {
    const task = this.#require(taskId);
    if (!isOpen(task)) return;
    change(task, { status: 'cancelled' });
    task.controller.abort();
  }

  #require(taskId: string): Task {
    const task = this.#tasks.get(taskId);
    if (task) return task;
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      'This process has no such task, or it ended long ago. A run goes on without its task: run_evaluation with its run_id waits for it',
    );
  }

  /** Forgets tasks that ended long ago, and the oldest ended one if there are too many. Returns whether there is room for one more. */
  #makeRoom(): boolean {
    const oldestKept = Date.now() - ttlMs;
    const ended = [...this.#tasks.values()].filter((task) => !isOpen(task));
    for (const [index, { facts }] of ended.entries()) {
      const isExcess = index === 0 && this.#tasks.size >= maxTasks;
      if (isExcess || Date.parse(facts.lastUpdatedAt) < oldestKept) this.#tasks.delete(facts.taskId);
    }
    return this.#tasks.size < maxTasks;
  }
}

/** Works on a task until it ends or asks the user. */
async function run(task: Task): Promise<void> {
  const { work, responses, controller } = task;
  const report = (statusMessage: string): void => {
    if (isOpen(task)) change(task, { status: 'working', statusMessage });
  };
  try {
    const result = await work({ signal: controller.signal, responses, report });
    // A cancelled task stays so, whatever its work still comes to.
    if (!isOpen(task)) return;
    if (isInputRequiredResult(result)) change(task, { status: 'input_required', inputRequests: result.inputRequests });
    // As the SDK marks the result of a call that is answered at its end.
    else change(task, { status: 'completed', result: { ...result, resultType: 'complete' } });
  } catch (error) {
    const { code = ProtocolErrorCode.InternalError, message } = error as { code?: number; message: string };
    if (isOpen(task)) change(task, { status: 'failed', error: { code, message } });
  }
}

function change(task: Task, members: Pick<TaskFacts, 'status'> & Partial<TaskFacts>): void {
  const { inputRequests: _, statusMessage: __, ...facts } = task.facts;
  task.facts = { ...facts, ...members, lastUpdatedAt: new Date().toISOString() };
}
