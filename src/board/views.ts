/** A page that shows the results of a tool to a person. */
interface View {
  uri: `ui://${string}`;
  name: string;
  title: string;
  description: string;
  /** The tools that the page calls. */
  tools: readonly string[];
  /** Loads the page, one HTML file without any other. */
  load: () => Promise<string>;
}

/** Every View. Only the pages that are read are loaded. */
export const views: readonly View[] = [
  {
    uri: 'ui://heddle/review',
    name: 'review',
    title: 'Review board',
    description: "Board on which a person judges a queue's items",
    tools: ['list_queues', 'review_queue', 'query_queue_items', 'read_call', 'update_queue_items'],
    load: async () => (await import('./view/review/page.html')).default,
  },
  {
    uri: 'ui://heddle/evaluation',
    name: 'evaluation',
    title: 'Results of evaluations',
    description: 'Runs side by side, with their scores and the rows that changed',
    tools: ['read_evaluation', 'read_call'],
    load: async () => (await import('./view/evaluation/page.html')).default,
  },
];
