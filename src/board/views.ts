/** A page that shows the results of a tool to a person. */
interface View {
  uri: `ui://${string}`;
  name: string;
  title: string;
  description: string;
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
    load: async () => (await import('./view/review/page.html')).default,
  },
  {
    uri: 'ui://heddle/evaluation',
    name: 'evaluation',
    title: 'Results of evaluations',
    description: 'Runs side by side, with their scores and the rows that changed',
    load: async () => (await import('./view/evaluation/page.html')).default,
  },
];
