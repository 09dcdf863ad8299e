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
  /** Returns how it is done. */
  advice: (call: PeopleOnlyCall, asked: ReadonlySet<string>) => string;
}

const makingVerbs = ['add', 'create', 'new', 'invite', 'register', 'list', 'delete', 'remove'];

const topics: readonly Topic[] = [
  {
    words: ['import', 'upload', 'ingest', 'file'],
    advice: importAdvice,
  },
  {
    words: ['export', 'download', 'save'],
    advice: (call, asked) => `No tool writes files: ${exportAdvice(call, asked)}`,
  },
  {
    words: ['csv', 'tsv', 'xlsx', 'excel', 'spreadsheet', 'jsonl', 'path'],
    advice: (call, asked) =>
      /^(add|create)_/.test(call.tool ?? '')
        ? importAdvice(call)
        : `No tool writes files: ${exportAdvice(call, asked)}`,
  },
  {
    words: ['backup', 'backups', 'dump', 'snapshot', 'restore'],
    advice: (call) =>
      call.isEmbedded
        ? `No tool backs data up: the user can run ${terminalCommand(['service backup', 'FILE'], serviceDataFlags, call)}, and restore it with ${terminalCommand(['service restore', 'FILE'], serviceDataFlags, call)}.`
        : 'No tool and no command backs up this service: its operator does.',
  },
  {
    words: ['user', 'users', 'member', 'members', 'annotator', 'reviewer'],
    verbs: makingVerbs,
    advice: accountAdvice,
  },
  {
    words: ['account', 'accounts', 'invite', 'invitation', 'permission', 'permissions', 'grant', 'revoke'],
    advice: accountAdvice,
  },
  {
    words: ['assign', 'assigned', 'assignee', 'assignees', 'reassign', 'delegate', 'annotator', 'reviewer'],
    advice: (call) =>
      `update_queue sets which accounts may claim the items of a queue, update_queue_items those of single items (assignees). No tool judges for other people: they do, for example on the board of ${boardCommand(call)}.`,
  },
  {
    words: ['judgement', 'judgements', 'judgment', 'judgments', 'note', 'notes'],
    verbs: ['delete', 'remove', 'clear', 'undo', 'withdraw', 'reset'],
    advice: () =>
      "update_queue_items takes back the caller's own judgements and notes: retract names the fields, note, or * for all. Nobody else's can be taken back.",
  },
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
        ? `; the user can set all data aside with ${terminalCommand(['service reset'], serviceDataFlags, call)}`
        : '; the user can on the pages of the service';
      const queues = call.offersTool('update_queue')
        ? 'update_queue removes items and deletes queues'
        : `The user can delete a queue with ${terminalCommand(['queue delete', call.queueId ?? 'QUEUE'], queueFlags, call)}`;
      return `${queues}. No tool deletes recorded calls or stored objects${all}.`;
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
    words: ['price', 'prices', 'cost', 'costs'],
    verbs: [...makingVerbs, 'set', 'store', 'update', 'change'],
    advice: (call) => `No tool stores prices: the user can run ${priceCommand('MODEL', call)}.`,
  },
  {
    words: ['login', 'logout', 'authenticate', 'credentials', 'connect'],
    advice: (call) =>
      `No tool changes credentials: the user can run ${terminalCommand(['login'], ['--profile'], call)}.`,
  },
];

function importAdvice(call: PeopleOnlyCall): string {
  return `No tool reads files: the user can run ${terminalCommand(['import', 'FILE', '--queue', 'NAME'], queueFlags, call)}.`;
}

function accountAdvice(call: PeopleOnlyCall): string {
  return call.isEmbedded
    ? `No tool manages accounts: the user can run ${terminalCommand(['service add-user', 'NAME', 'PROJECT'], serviceDataFlags, call)}, and then ${terminalCommand(['service start'], serviceDataFlags, call)} for others to connect to.`
    : 'No tool manages accounts: the operator of the service does, with `heddle service add-user` if it is one of heddle.';
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
      ({ words: asked, verbs }) =>
        asked.some((word) => words.has(word)) && (!verbs || verbs.some((verb) => words.has(verb))),
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
