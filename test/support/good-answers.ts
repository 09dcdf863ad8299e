const time = '2025-04-07T14:39:02.000Z';
const item = {
  id: 'i1',
  project_id: 'a/b',
  queue_id: 'q',
  call_id: 'c1',
  call_started_at: time,
  call_op_name: 'op',
  call_trace_id: 't',
  display_fields: ['inputs.question'],
  annotation_state: 'unstarted',
  created_at: time,
  created_by: 'me',
  updated_at: time,
};

/** Paths by pattern, the first that matches, and what a working service answers there. */
const answers: [RegExp, unknown, 'lines'?][] = [
  [/\/items\/query$/, { items: [item] }],
  [/\/progress$/, { item: { ...item, annotation_state: 'completed' } }],
  [/\/annotation_queues\/query$/, { id: 'q', project_id: 'a/b', name: 'Q', created_at: time }, 'lines'],
  [/\/annotation_queues\/stats$/, { stats: [{ queue_id: 'q', total_items: 1, completed_items: 0 }] }],
  [/\/call\/read$/, { call: { id: 'c1', inputs: { question: 'Why?' }, output: 'Because.' } }],
  [/\/calls\/stream_query$/, { id: 'c1', inputs: { question: 'Why?' }, output: 'Because.' }, 'lines'],
  [/\/feedback\/create$/, { id: 'f1', created_at: time, payload: {} }],
  [/\/inference\/v1\/models$/, { object: 'list', data: [{ id: 'm' }] }],
  [
    /\/inference\/v1\//,
    {
      id: 'r1',
      object: 'chat.completion',
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    },
  ],
  [/\/datasets(\?|$)/, { object_id: 'd', digest: 'x', version_index: 0 }, 'lines'],
  [/\/evaluations$/, { digest: 'x', object_id: 'e', version_index: 0, evaluation_ref: 'weave:///a/b/object/e:x' }],
];

/** The answer of a working service to a request for one of the tools. */
export function goodAnswer({ path }: { path: string }): { contentType: string; body: string } {
  const [, value, lines] = answers.find(([pattern]) => pattern.test(path)) ?? [];
  return {
    contentType: lines ? 'application/x-ndjson' : 'application/json',
    body: `${JSON.stringify(value ?? {})}${lines ? '\n' : ''}`,
  };
}
