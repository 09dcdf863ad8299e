// One program that records calls as fast as the service takes them, in the way of npm weave 0.11.1: starts and ends in the
// order in which they happen, in batches of up to 10 Mi characters, the next one 200 ms after the reply to the one before.
// Arguments: URL, project, number of calls. Prints a line with the number of ended calls after each acknowledged batch.
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Client } from 'undici';

const [url, project, count] = process.argv.slice(2);
const batchChars = 10 * 1024 * 1024;
const pauseMs = 200;
/** A run in this many fails, and one in that many uses the operation that is seldom called. */
const failing = 50;
const seldom = 2000;

const vocabulary = 'order refund invoice delivery address parcel customer ticket warranty agent policy delay'.split(
  ' ',
);
let seed = process.pid;
const random = (below) => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) * below);
};
const words = (number) => Array.from({ length: number }, () => vocabulary[random(vocabulary.length)]).join(' ');

/** Returns an id of the kind that the SDK makes: the time, then random digits. */
function newId() {
  const hex = Date.now().toString(16).padStart(12, '0') + randomBytes(10).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

const opName = (name) => `weave:///${project}/op/${name}:${name.padEnd(43, 'D')}`;
const now = () => new Date().toISOString();
const attributes = { weave: { client_version: '0.11.1', source: 'js-sdk' } };

/** Yields the events of one run of a program: a call that makes three others, one of which makes another. */
function* eventsOfRun(run) {
  const trace_id = newId();
  const begin = (name, parent_id, inputs) => {
    const id = newId();
    const start = { project_id: project, id, op_name: opName(name), trace_id, parent_id, started_at: now() };
    return { mode: 'start', req: { start: { ...start, attributes, inputs } } };
  };
  const end = ({ req }, output, usage) => ({
    mode: 'end',
    req: {
      end: {
        project_id: project,
        id: req.start.id,
        ended_at: now(),
        output,
        summary: { ...(usage && { usage: { 'model-1': usage } }), status_counts: { success: 1, error: 0 } },
        ...(output === null && { exception: 'TimeoutError: the model did not reply' }),
      },
    },
  });
  const root = begin('answer', undefined, { question: words(40), customer: { id: run, tier: words(1) } });
  yield root;
  const retrieve = begin('retrieve', root.req.start.id, { query: words(40), limit: 5 });
  yield retrieve;
  const embed = begin('embed', retrieve.req.start.id, { text: words(80) });
  yield embed;
  yield end(embed, { vector: Array.from({ length: 64 }, () => random(1_000_000) / 1_000_000) });
  yield end(retrieve, { passages: [1, 2, 3].map((rank) => ({ rank, text: words(30) })) });
  const messages = [{ role: 'user', content: words(70) }];
  const generate = begin('generate', root.req.start.id, { model: 'model-1', messages, temperature: 0.2 });
  yield generate;
  const usage = { requests: 1, prompt_tokens: 400 + random(400), completion_tokens: random(200) };
  yield end(generate, run % failing === 0 ? null : { role: 'assistant', content: words(80) }, usage);
  const judge = begin(run % seldom === 0 ? 'escalate' : 'judge', root.req.start.id, { reply: words(80) });
  yield judge;
  yield end(judge, { score: random(1000) / 1000, reason: words(60) });
  yield end(root, run % failing === 0 ? null : { reply: words(80) }, usage);
}

function* allEvents() {
  for (let run = 0; run * 5 < Number(count); run += 1) yield* eventsOfRun(run);
}

/** Joins events to the bodies of requests. */
function* batches() {
  let parts = [];
  let chars = 0;
  let ended = 0;
  for (const event of allEvents()) {
    const text = JSON.stringify(event);
    if (chars + text.length > batchChars) {
      yield { body: `{"batch":[${parts.join()}]}`, ended };
      parts = [];
      chars = 0;
      ended = 0;
    }
    parts.push(text);
    chars += text.length;
    if (event.mode === 'end') ended += 1;
  }
  if (parts.length > 0) yield { body: `{"batch":[${parts.join()}]}`, ended };
}

const client = new Client(url, { headersTimeout: 0, bodyTimeout: 0 });
const authorization = `Basic ${Buffer.from(`api:${process.env.WANDB_API_KEY}`).toString('base64')}`;
for (const { body, ended } of batches()) {
  const response = await client.request({
    method: 'POST',
    path: '/call/upsert_batch',
    headers: { authorization, 'content-type': 'application/json' },
    body,
  });
  const text = await response.body.text();
  if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${text.slice(0, 500)}`);
  process.stdout.write(`${ended}\n`);
  await setTimeout(pauseMs);
}
await client.close();
