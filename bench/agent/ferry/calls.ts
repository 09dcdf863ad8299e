import type { CompletedCall } from '../../../src/contract/calls.ts';
import { project } from '../workspace.ts';
import { talks } from './talks.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Returns a generator of numbers from 0 to below 1, which are the same for the same seed. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** An operation of the desk of the ferry line. */
interface Operation {
  name: string;
  calls: number;
  model: string;
  /** Share of the calls that fail. */
  failing: number;
  seconds: number;
}

const operations: readonly Operation[] = [
  { name: 'desk.answer', calls: 280, model: 'nordic-large', failing: 0.03, seconds: 4 },
  { name: 'desk.rebook', calls: 140, model: 'nordic-small', failing: 0.14, seconds: 2 },
  { name: 'desk.refund', calls: 100, model: 'nordic-large', failing: 0.06, seconds: 6 },
  { name: 'desk.translate', calls: 80, model: 'nordic-small', failing: 0.02, seconds: 1 },
];

/** Prices in USD of a token. */
export const prices = {
  'nordic-large': { prompt_token_cost: 0.0002, completion_token_cost: 0.0008 },
  'nordic-small': { prompt_token_cost: 0.00002, completion_token_cost: 0.00008 },
};

const questions = [
  'When does the ferry to Visby leave on day {n}?',
  'Wann fährt die Fähre nach Visby am Tag {n}?',
  'À quelle heure part le ferry pour Visby le jour {n} ?',
  'Milloin lautta lähtee Visbyhyn päivänä {n}?',
  '{n}日のヴィスビー行きフェリーは何時に出ますか。',
];

const timeout = 'TimeoutError: the harbour system did not answer within 10 s';

interface CallFacts {
  id: string;
  op_name: string;
  startedAt: number;
  seconds?: number;
  inputs: Record<string, unknown>;
  output: unknown;
  exception?: string | undefined;
  model?: string;
  tokens?: readonly [read: number, written: number];
}

function recorded({ id, op_name, startedAt, seconds = 2, inputs, output, exception, model, tokens }: CallFacts) {
  const [prompt_tokens, completion_tokens] = tokens ?? [0, 0];
  return {
    project_id: project,
    id,
    op_name,
    trace_id: `trace-of-${id}`,
    started_at: new Date(startedAt).toISOString(),
    ended_at: new Date(startedAt + seconds * 1000).toISOString(),
    attributes: {},
    inputs,
    output: exception === undefined ? output : null,
    exception: exception ?? null,
    summary: model === undefined ? {} : { usage: { [model]: { requests: 1, prompt_tokens, completion_tokens } } },
  } satisfies CompletedCall;
}

/** 600 calls of customers: 380 in the last six and a half days, the others more than eight days ago. */
function traffic(now: number): CompletedCall[] {
  const random = randomNumbers(20_261);
  const drawn = operations
    .flatMap((operation) => Array.from({ length: operation.calls }, () => ({ operation, order: random() })))
    .sort((a, b) => a.order - b.order);
  return drawn.map(({ operation }, index) => {
    const isRecent = index < 380;
    const ageMs = isRecent ? 2 * hourMs + random() * 6.4 * dayMs : (8 + random() * 6) * dayMs;
    const fails = random() < operation.failing;
    const question = questions[Math.floor(random() * questions.length)]!.replace('{n}', String((index % 28) + 1));
    return recorded({
      id: `ferry-${String(index + 1).padStart(4, '0')}`,
      op_name: operation.name,
      startedAt: now - Math.round(ageMs),
      seconds: operation.seconds * (0.5 + random()),
      inputs: { question },
      output: { answer: `At ${6 + (index % 14)}:30 from pier ${(index % 4) + 1}.` },
      exception: fails ? (random() < 0.6 ? timeout : 'KeyError: booking') : undefined,
      model: operation.model,
      tokens: [Math.round(200 + random() * 1600), Math.round(20 + random() * 380)],
    });
  });
}

export const callId = (prefix: string, number: number): string => `${prefix}-${String(number).padStart(2, '0')}`;

/** Numbers of the complaints that were translations, which are no complaints. */
export const translations = [4, 9, 14, 20, 23, 29, 33, 36, 42, 47, 51, 58];
/** Numbers of the complaints on which the desk failed. */
const timeouts = [6, 21, 28, 44, 55];
const otherFailures = [11, 39, 50];

const grievances = [
  'My cabin was not cleaned.',
  'The ferry left two hours late and nobody said why.',
  'You charged my car twice.',
  'My suitcase came back wet.',
  'The children’s meal was cold.',
];

/** 60 complaints; the last eight are younger than a day. */
function complaints(now: number): CompletedCall[] {
  return Array.from({ length: 60 }, (_, index) => {
    const number = index + 1;
    const ageMs = number > 52 ? (61 - number) * 2 * hourMs : 2.5 * dayMs + (60 - number) * 1.5 * hourMs;
    const exceptions = timeouts.includes(number)
      ? timeout
      : otherFailures.includes(number)
        ? 'KeyError: booking'
        : undefined;
    return recorded({
      id: callId('complaint', number),
      op_name: translations.includes(number) ? 'desk.translate' : 'desk.complaint',
      startedAt: now - ageMs,
      inputs: { complaint: `${grievances[index % grievances.length]} Booking ${4000 + number * 7}.` },
      output: { answer: 'We are sorry. We look into it and write to you within three days.' },
      exception: exceptions,
    });
  });
}

/** True if a refund was decided as the rules say, in the opinion of people. */
export const isFair = (number: number): boolean => number % 5 !== 0 && number % 7 !== 3;

/** 60 decisions about refunds. */
function refunds(now: number): CompletedCall[] {
  return Array.from({ length: 60 }, (_, index) => {
    const number = index + 1;
    return recorded({
      id: callId('decision', number),
      op_name: 'desk.decide',
      startedAt: now - 9 * dayMs - number * hourMs,
      inputs: { ticket: `Ticket ${number}: the ferry was ${isFair(number) ? 30 : 190} minutes late.` },
      output: `Decision ${number}: no refund, since we refund delays of more than 120 minutes only.`,
    });
  });
}

/** Returns all recorded calls of the ferry line, at times before `now` in milliseconds. */
export function ferryCalls(now: number): CompletedCall[] {
  const told = talks.map(({ messages }, index) =>
    recorded({
      id: callId('talk', index + 1),
      op_name: 'desk.talk',
      startedAt: now - 10 * dayMs + index * hourMs,
      inputs: { messages },
      output: null,
    }),
  );
  return [...traffic(now), ...complaints(now), ...refunds(now), ...told];
}
