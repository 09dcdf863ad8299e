import { claimedAtOnce, claimMinutes, closedRowChars, pageSize, queuePageSize } from './page-sizes.ts';

export interface ToolCall {
  name: string;
  arguments: Record<string, unknown>;
}

/** A page that shows the results of a tool to a person. */
interface View {
  uri: `ui://${string}`;
  name: string;
  title: string;
  description: string;
  /** The tools that the page calls. */
  tools: readonly string[];
  /** Returns the call that the page makes first when it is opened with arguments. */
  firstCall: (args: Record<string, unknown>) => ToolCall;
  /** Loads the page for a chat, one HTML file without any other. */
  load: () => Promise<string>;
  /** Loads the page for a browser. */
  loadForBrowser: () => Promise<string>;
}

const loadEvaluation = async (): Promise<string> => (await import('./view/evaluation/page.html')).default;

/** Every View. Only the pages that are read are loaded. */
export const views: readonly View[] = [
  {
    uri: 'ui://heddle/review',
    name: 'review',
    title: 'Review board',
    description: "Board on which a person judges a queue's items",
    tools: [
      'list_queues',
      'review_queue',
      'claim_queue_items',
      'query_queue_items',
      'read_call',
      'update_queue_items',
      'update_queue',
      'summarize_queue',
    ],
    firstCall: (args) =>
      args.queue_id === undefined
        ? { name: 'list_queues', arguments: { limit: queuePageSize } }
        : {
            name: 'claim_queue_items',
            arguments: { ...args, filter: {}, n: claimedAtOnce, minutes: claimMinutes, prolong: true, by_user: true },
          },
    load: async () => (await import('./view/review/page.html')).default,
    loadForBrowser: async () => (await import('./view/browser/page.html')).default,
  },
  {
    uri: 'ui://heddle/evaluation',
    name: 'evaluation',
    title: 'Results of evaluations',
    description: 'Runs side by side, with their scores and the rows that changed',
    tools: ['read_evaluation', 'read_call'],
    firstCall: (args) => ({
      name: 'read_evaluation',
      arguments: { ...args, limit: pageSize, max_value_chars: closedRowChars },
    }),
    load: loadEvaluation,
    loadForBrowser: loadEvaluation,
  },
];
