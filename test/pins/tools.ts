/** The tools in the order in which clients see them. `isReadOnly` marks those that change nothing. */
export const pinnedTools = [
  { name: 'list_queues', groups: ['queue'], isReadOnly: true },
  { name: 'query_queue_items', groups: ['queue'], isReadOnly: true },
  { name: 'summarize_queue', groups: ['queue'], isReadOnly: true },
  { name: 'read_call', groups: ['queue'], isReadOnly: true },
  { name: 'query_calls', groups: ['queue'], isReadOnly: true },
  { name: 'create_queue', groups: ['queue'], isReadOnly: false },
  { name: 'add_queue_items', groups: ['queue'], isReadOnly: false },
  { name: 'update_queue_items', groups: ['queue'], isReadOnly: false },
  { name: 'review_queue', groups: ['queue'], isReadOnly: true },
  { name: 'list_objects', groups: ['inference', 'evaluation'], isReadOnly: true },
  { name: 'read_object', groups: ['evaluation'], isReadOnly: true },
  { name: 'run_inference', groups: ['inference'], isReadOnly: false },
  { name: 'create_dataset', groups: ['evaluation'], isReadOnly: false },
  { name: 'create_scorer', groups: ['evaluation'], isReadOnly: false },
  { name: 'create_evaluation', groups: ['evaluation'], isReadOnly: false },
  { name: 'run_evaluation', groups: ['evaluation'], isReadOnly: false },
  { name: 'read_evaluation', groups: ['evaluation'], isReadOnly: true },
];

/** The names of all tools, in order. */
export const toolNames = pinnedTools.map(({ name }) => name);

/** The names of the tools that change nothing, in order. */
export const readOnlyTools = pinnedTools.filter(({ isReadOnly }) => isReadOnly).map(({ name }) => name);
