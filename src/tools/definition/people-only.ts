import { shortName } from '../../text/names.ts';
import {
  type CommandTarget,
  exportOptions,
  queueFlags,
  serviceDataFlags,
  terminalCommand,
} from './terminal-command.ts';

/** What a command on a queue depends on. */
interface QueueTarget extends CommandTarget {
  /** Id of the queue that a call names. */
  queueId?: string | undefined;
  /** Its name, if it is known. */
  queueName?: string;
}

/** A call that asks for something which no tool does. */
export interface PeopleOnlyCall extends QueueTarget {
  /** True if the service is the embedded one. */
  isEmbedded: boolean;
  offersTool: (name: string) => boolean;
  /** Name of the tool that is called, if there is one. */
  tool?: string | undefined;
}

/** Something that people do and no tool does. */
interface Topic {
  /** Words of which one is in the name that a call gives for it. */
  words: readonly string[];
  /** Words of which one must be in it too, if there are any. */
  verbs?: readonly string[];
  /** The tools in question; the name of a tool that does not exist is tried as well. By default, all. */
  tools?: RegExp;
  /** Returns how it is done. */
  advice: (call: PeopleOnlyCall, asked: ReadonlySet<string>) => string;
}

const fileWords = ['file', 'filename', 'path', 'csv', 'tsv', 'xlsx', 'excel', 'spreadsheet', 'jsonl'];
const makingVerbs = ['add', 'create', 'new', 'invite', 'register', 'list', 'delete', 'remove'];

const topics: readonly Topic[] = [
  { words: ['import', 'upload', 'ingest'], advice: importAdvice },
  {
    words: [...fileWords, 'rows', 'row', 'records', 'data', 'url'],
    tools: /^(add_queue_items|create_queue|create_dataset|create_prompt)$/,
    advice: importAdvice,
  },
  {
    words: ['export', 'download', 'save', 'out', 'format', ...fileWords],
    tools: /^(?!create_|run_inference)/,
    advice: (call, asked) => `No tool writes files: ${exportAdvice(call, asked)}`,
  },
  {
    words: ['backup', 'backups', 'dump', 'snapshot', 'restore'],
    advice: (call) =>
      call.isEmbedded
        ? `No tool backs data up: the user can run ${terminalCommand(['service backup', 'FILE'], serviceDataFlags, call)}, and restore it with ${terminalCommand(['service restore', 'FILE'], serviceDataFlags, call)}.`
        : 'No tool and no command backs up this service: its operator does.',
  },
  {
    words: ['user', 'member', 'annotator', 'reviewer'],
    verbs: makingVerbs,
    advice: accountAdvice,
  },
  {
    words: [
      ...['account', 'accounts', 'users', 'members', 'people', 'team', 'invite', 'invitation', 'share'],
      ...['permission', 'permissions', 'grant', 'revoke'],
    ],
    advice: accountAdvice,
  },
  {
    words: ['assign', 'assigned', 'assignee', 'assignees', 'reassign', 'delegate', 'annotator', 'reviewer'],
    advice: (call) =>
      `update_queue sets which accounts may claim the items of a queue, update_queue_items those of single items (assignees). No tool judges for other people: they do, for example on the board of ${boardCommand(call)}.`,
  },
  {
    words: ['move', 'moved', 'merge'],
    advice: moveAdvice,
  },
  {
    words: ['queue'],
    tools: /^update_queue/,
    advice: moveAdvice,
  },
  {
    words: ['cancel', 'stop', 'abort', 'kill'],
    tools: /run_evaluation|read_evaluation|calibrate_scorer|_run$|_evaluation$/,
    advice: () =>
      'No tool cancels a run: it ends when the user cancels the call of run_evaluation that waits for it, also one with run_id alone, or when it reaches its budget. Programs cancel it with POST /evaluations/cancel of the service of heddle.',
  },
  {
    words: ['judgement', 'judgements', 'judgment', 'judgments', 'note', 'notes'],
    verbs: ['delete', 'remove', 'clear', 'reset'],
    advice: withdrawAdvice,
  },
  {
    words: ['code', 'python', 'javascript', 'function', 'script'],
    tools: /scorer/,
    advice: () =>
      'No scorer is code: one of the kind endpoint asks a program of the user, which the setting HEDDLE_SCORER_ENDPOINTS names.',
  },
  {
    words: ['link', 'browser', 'board'],
    advice: (call) => `No tool opens a browser: the user can run ${boardCommand(call)}.`,
  },
  { words: ['undo', 'revert', 'withdraw', 'retract'], advice: withdrawAdvice },
  {
    words: ['field', 'fields'],
    verbs: ['delete', 'remove', 'drop', 'clear', 'archive', 'hide', 'rename', 'change', 'update', 'edit', 'replace'],
    advice: () =>
      'No tool removes or changes a field, because judgements refer to it: add another one with add_fields of update_queue, and say in guidelines which one no longer counts. The user can leave a field out of the scorer_refs of the queue (PUT /annotation_queues/{queue_id} of the service); its judgements stay.',
  },
  {
    words: ['delete', 'deleted', 'remove', 'removed', 'drop', 'purge', 'erase', 'destroy', 'archive', 'clear', 'reset'],
    advice: (call) => {
      const all = call.isEmbedded
        ? `programs can, with POST /calls/delete and POST /obj/delete of the service, and the user can set all data aside with ${terminalCommand(['service reset'], serviceDataFlags, call)}`
        : 'the user can on the pages of the service';
      const queues = call.offersTool('update_queue')
        ? 'update_queue removes items and deletes queues'
        : `The user can delete a queue with ${terminalCommand(['queue delete', call.queueId ?? 'QUEUE'], queueFlags, call)}`;
      return `${queues}. No tool deletes recorded calls or stored objects: ${all}.`;
    },
  },
  {
    words: ['copy', 'migrate', 'transfer', 'sync', 'clone'],
    advice: (call) =>
      call.isEmbedded
        ? `No tool copies projects: the user can run ${terminalCommand(['service copy', '--to', 'PROFILE'], [...serviceDataFlags, '--project'], call)}.`
        : 'No tool and no command copies projects of this service.',
  },
  {
    words: ['price', 'prices', 'pricing'],
    advice: priceAdvice,
  },
  {
    words: ['cost', 'costs'],
    verbs: [...makingVerbs, 'set', 'store', 'update', 'change'],
    advice: priceAdvice,
  },
  {
    words: ['login', 'logout', 'authenticate', 'credentials', 'connect'],
    advice: (call) =>
      `No tool changes credentials: the user can run ${terminalCommand(['login'], ['--profile'], call)}.`,
  },
];

function importAdvice(call: PeopleOnlyCall): string {
  const kind = call.isEmbedded && /^create_(dataset|prompt)$/.exec(call.tool ?? '')?.[1];
  const command = kind
    ? terminalCommand([`service put-${kind}`, 'NAME', 'FILE'], [...serviceDataFlags, '--project'], call)
    : terminalCommand(['import', 'FILE', '--queue', 'NAME'], queueFlags, call);
  return `No tool reads files${kind ? '' : ' or records calls'}: the user can run ${command}.`;
}

function moveAdvice(): string {
  return 'No tool moves items: add their calls to the other queue with add_queue_items, and take the items out of this one with remove_items of update_queue. Their judgements stay those of this queue.';
}

function withdrawAdvice(): string {
  return "update_queue_items takes back the caller's own judgements and notes: retract names the fields, note, or * for all. Nobody else's can be taken back.";
}

function priceAdvice(call: PeopleOnlyCall): string {
  return `No tool stores prices: the user can run ${priceCommand('MODEL', call)}.`;
}

function accountAdvice(call: PeopleOnlyCall): string {
  const mayClaim = /^(create|update)_queue$/.test(call.tool ?? '') ? '; assignees names those who may claim items' : '';
  return call.isEmbedded
    ? `No tool manages accounts${mayClaim}: the user can run ${terminalCommand(['service add-user', 'NAME', 'PROJECT'], serviceDataFlags, call)}, or ${terminalCommand(['service invite', 'NAME', 'PROJECT'], serviceDataFlags, call)} for a link to the board, and then ${terminalCommand(['service start', '--board'], serviceDataFlags, call)} for others to connect to.`
    : `No tool manages accounts${mayClaim}: the operator of the service does, with \`heddle service add-user\` if it is one of heddle.`;
}

function exportAdvice(call: PeopleOnlyCall, asked: ReadonlySet<string>): string {
  const isOf = (...words: string[]) => words.some((word) => asked.has(word) || wordsOf(call.tool ?? '').has(word));
  const printed = (tool: string) => terminalCommand(['call', tool, 'ARGUMENTS'], queueFlags, call);
  if (isOf('run', 'runs', 'evaluation', 'evaluations')) {
    const form = ['--format', 'csv', '--out', 'rows.csv'];
    return `the user can run ${terminalCommand(['evaluation export', 'RUN', ...form], queueFlags, call)}.`;
  }
  if (isOf('call', 'calls')) {
    return `the user can run ${printed('query_calls')}, which prints JSON. For CSV, add the calls to a queue (add_queue_items), which the user exports with ${exportCommand(call)}.`;
  }
  if (isOf('object', 'objects', 'dataset', 'datasets'))
    return `the user can run ${printed('read_object')}, which prints JSON.`;
  return `summarize_queue links the judgements of a queue as CSV, or the user can run ${exportCommand(call)}.`;
}

/** Returns the command that opens the board of a queue, whose id is QUEUE if the call names none. */
export function boardCommand(call: QueueTarget): string {
  return terminalCommand(['board', call.queueId ?? 'QUEUE'], queueFlags, call);
}

/** Returns the command that saves the judgements of a queue, whose id is QUEUE if the call names none. */
export function exportCommand(call: QueueTarget): string {
  const { queueId = 'QUEUE', queueName = queueId } = call;
  return terminalCommand(['queue export', queueId, ...exportOptions(queueName)], queueFlags, call);
}

/** Returns the command that stores the price of a model. */
export function priceCommand(model: string, target: CommandTarget): string {
  return terminalCommand(['price', model, '--input', 'USD', '--output', 'USD'], queueFlags, target);
}

/** Returns how people do what one of the names asks for and no tool does; undefined if that is nothing known. */
export function adviceForPeople(names: readonly string[], call: PeopleOnlyCall): string | undefined {
  for (const name of names) {
    const words = wordsOf(shortName(name));
    const topic = topics.find(
      ({ words: asked, verbs, tools = /(?:)/ }) =>
        asked.some((word) => words.has(word)) &&
        (!verbs || verbs.some((verb) => words.has(verb))) &&
        tools.test(call.tool ?? name),
    );
    if (topic) return topic.advice(call, words);
  }
  return undefined;
}

/** Returns the words of a name that is written in any of the usual ways, in lower case. */
function wordsOf(name: string): Set<string> {
  const spaced = name.replaceAll(/([a-z])([A-Z])/g, '$1 $2');
  return new Set(spaced.toLowerCase().split(/[^a-z]/));
}
