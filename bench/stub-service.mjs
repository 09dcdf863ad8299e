// A separate process with a service that costs as little as possible: pages of a queue of a million generated items, inference
// replies of any size, evaluations. Prints its port on stdout.
import { createServer } from 'node:http';

const queueSize = 1_000_000;
const states = ['unstarted', 'in_progress', 'completed', 'skipped'];
const operations = ['support.answer', 'support.route', 'support.summarize'];

/** Generates one item as the public service sends it: 17 members, UUIDs, an internal project id, milliseconds. */
function item(index) {
  const tail = index.toString(16).padStart(12, '0');
  const startedAt = new Date(1_750_000_000_000 + index * 7_919).toISOString();
  const createdAt = new Date(1_760_000_000_000 + index).toISOString();
  return {
    id: `0199a3c4-5d6e-7f80-9a1b-${tail}`,
    project_id: 'UHJvamVjdEludGVybmFsSWQ6NDA5NjE2Mzk=',
    queue_id: '0197a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b',
    call_id: `0198b2c3-6d7e-7f80-8b9c-${tail}`,
    call_started_at: startedAt,
    call_op_name: operations[index % 3],
    call_trace_id: `0198b2c3-6d7e-7f80-9c8d-${tail}`,
    display_fields: ['inputs.question', 'output.answer'],
    annotation_state: states[index % 7 < 4 ? 0 : (index % 3) + 1],
    created_at: createdAt,
    created_by: 'api',
    updated_at: createdAt,
    call_ended_at: startedAt,
    added_by: 'importer',
    annotator_user_id: null,
    deleted_at: null,
    position_in_queue: null,
  };
}

/** Items are generated once; the response is serialised for each request, as a service must. */
const firstItems = Array.from({ length: 2_000 }, (_, index) => item(index));

function page({ limit = queueSize, offset = 0 }) {
  const end = Math.min(offset + limit, queueSize);
  const items =
    end <= firstItems.length
      ? firstItems.slice(offset, end)
      : Array.from({ length: Math.max(0, end - offset) }, (_, index) => item(offset + index));
  return Buffer.from(JSON.stringify({ items }));
}

/** Generates a chat completion; a model named `bytes:N` replies with N bytes of text. */
function reply({ model }) {
  const size = /^bytes:(\d+)$/.exec(model)?.[1];
  const content = size
    ? 'All work and no play. '.repeat(Math.ceil(Number(size) / 22)).slice(0, Number(size))
    : 'The export is under Settings, Data, Export. It takes up to an hour; you get a mail with the link when it is ready. If nothing comes, look at the spam folder first, then write to us again with the time you started it.';
  return Buffer.from(
    JSON.stringify({
      id: 'chatcmpl-9f8e7d6c5b4a',
      object: 'chat.completion',
      created: 1_760_000_000,
      model,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop', logprobs: null }],
      usage: { prompt_tokens: 412, completion_tokens: 51, total_tokens: 463 },
      system_fingerprint: null,
    }),
  );
}

const evaluation = Buffer.from(
  JSON.stringify({
    digest: 'kL3mN4oP5qR6sT7uV8wX9yZ0aB1cD2eF3gH4iJ5kL6m',
    object_id: 'support-answers',
    version_index: 3,
    evaluation_ref: 'weave:///acme/support/object/support-answers:kL3mN4oP5qR6sT7uV8wX9yZ0aB1cD2eF3gH4iJ5kL6m',
  }),
);

const dataset = Buffer.from(
  JSON.stringify({
    obj: {
      project_id: 'acme/support',
      object_id: 'tickets',
      digest: 'mN4oP5qR6sT7uV8wX9yZ0aB1cD2eF3gH4iJ5kL6mkL3',
      version_index: 0,
      is_latest: 1,
      kind: 'object',
      base_object_class: 'Dataset',
      created_at: '2025-10-09T08:53:20.000Z',
      val: {},
    },
  }),
);

const server = createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const body = parts.length > 0 ? JSON.parse(Buffer.concat(parts)) : {};
    const answer = request.url.endsWith('/items/query')
      ? page(body)
      : request.url.includes('/inference/')
        ? reply(body)
        : request.url === '/obj/read'
          ? dataset
          : request.url === '/objs/query'
            ? Buffer.from('{"objs":[]}')
            : evaluation;
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length }).end(answer);
  });
});
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
