/** The methods that clients of both SDK versions share. */
export interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

/** Arguments with which each tool succeeds on the sample project of the embedded service. */
export const examples: Record<string, Record<string, unknown>> = {
  list_queues: {},
  query_queue_items: { queue_id: 'support-triage', limit: 2 },
  summarize_queue: { queue_id: 'support-triage' },
  read_call: { call_id: 'support-0001' },
  query_calls: { filter: { text: 'refund' }, limit: 2 },
  create_queue: { name: 'Refunds', fields: [{ name: 'correct', type: 'boolean' }] },
  add_queue_items: { queue_id: 'support-triage', call_ids: ['support-0001'], dry_run: true },
  update_queue_items: {
    queue_id: 'support-triage',
    items: [{ item_id: 'none', annotation_state: 'completed' }],
    dry_run: true,
  },
  review_queue: { queue_id: 'support-triage', limit: 2 },
  list_objects: { kind: 'dataset' },
  read_object: { ref: 'weave:///demo/support/object/tickets:latest', limit: 2 },
  run_inference: { model: 'heddle/echo', messages: [{ role: 'user', content: 'Hello' }] },
  create_dataset: { name: 'Refund questions', rows: [{ question: 'Where is my refund?', expected: 'ten days' }] },
  create_scorer: { name: 'Right answer', kind: 'contains', expected: 'expected' },
  create_evaluation: { name: 'Answers', dataset: 'weave:///demo/support/object/tickets:latest' },
  run_evaluation: { evaluation: 'Answers', model: 'heddle/echo', prompt: '{question}', dry_run: true },
  read_evaluation: { evaluation: 'Answers' },
};

/** Returns arguments for a listed tool. @throws Error for a tool without an example: add one. */
export function exampleFor(name: string): Record<string, unknown> {
  const example = examples[name];
  if (!example) throw new Error(`test/support/call-every-tool.ts has no example for ${name}`);
  return example;
}

/** Calls every tool that the server lists, and returns their names. @throws Error if a call fails. */
export async function callEveryTool(client: AnyClient): Promise<string[]> {
  const { tools } = await client.listTools();
  for (const { name } of tools) {
    const result = (await client.callTool({ name, arguments: exampleFor(name) })) as Record<string, unknown>;
    if (result.isError || result.structuredContent === undefined) {
      throw new Error(`${name} failed: ${JSON.stringify(result.content)}`);
    }
  }
  return tools.map(({ name }) => name);
}
