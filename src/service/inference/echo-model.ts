import { randomBytes } from 'node:crypto';
import type { BodyOf } from '../../contract/endpoints.ts';
import { charsPerToken, echoModel, echoModelFacts } from '../../contract/inference.ts';
import { Refusal } from '../../core/http/refusal.ts';

const preamble =
  'This is heddle/echo, not a language model: it repeats the messages it received. Its usage counts four characters as a token.';

/** Maximum number of characters in all choices of a reply. A stream of them stays below what clients accept. */
const maxReplyChars = 4 * 1024 * 1024;
/** Longer messages are repeated without indentation, which can be many times their size. */
const maxIndentedChars = 64 * 1024;

/** Returns the list of models of a service without a model provider. */
export function echoModels() {
  return { object: 'list', data: [echoModelFacts] };
}

/**
 * Returns the entry of the list of models for an id.
 * @throws Refusal 404 for another model.
 */
export function readEchoModel(id: string) {
  if (id !== echoModel) throw unknownModel(id);
  return echoModelFacts;
}

/**
 * Answers like an OpenAI chat completion, in one piece or as a server-sent event stream.
 * @throws Refusal 404 for another path or model, 413 for a reply that would be too large.
 */
export function runEchoModel(path: string, request: BodyOf<'runInference'>, messages: unknown[]): Response {
  const { model } = request;
  if (path !== '/chat/completions') {
    const message = `${echoModel} answers /chat/completions only, not ${path}; other paths need a model provider.`;
    throw refusal(404, message, null, 'unknown_path');
  }
  if (model !== echoModel) throw unknownModel(model);
  const compact = JSON.stringify(messages);
  const received = compact.length > maxIndentedChars ? compact : JSON.stringify(messages, null, 2);
  const content = `${preamble}\n${received}`;
  const choices = Array.from({ length: Math.min(Math.max(request.n ?? 1, 1), 128) }, (_, index) => index);
  if (content.length * choices.length > maxReplyChars) {
    const message = `The reply would have more than ${maxReplyChars} characters: send shorter messages, or a smaller n.`;
    throw refusal(413, message, 'messages', 'reply_too_large');
  }
  const prompt_tokens = tokensOf(received);
  const completion_tokens = tokensOf(content) * choices.length;
  const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
  const head = {
    id: `chatcmpl-${randomBytes(9).toString('hex')}`,
    created: Math.floor(Date.now() / 1000),
    model: echoModel,
  };
  if (request.stream) return streamCompletion(head, content, choices, usage, asksForUsage(request));
  return Response.json({
    ...head,
    object: 'chat.completion',
    choices: choices.map((index) => ({
      index,
      message: { role: 'assistant', content, refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    })),
    usage,
  });
}

/** Returns about how many tokens a text takes, as dry runs estimate them. */
function tokensOf(text: string): number {
  return Math.ceil(text.length / charsPerToken);
}

/** Returns the choice of a request about usage in streams; undefined if it makes none. */
function asksForUsage({ stream_options }: BodyOf<'runInference'>): boolean | undefined {
  const { include_usage } = (stream_options ?? {}) as { include_usage?: unknown };
  return typeof include_usage === 'boolean' ? include_usage : undefined;
}

function unknownModel(model: string): Refusal {
  const message = `The model ${model} does not exist here: without a model provider, the only model is ${echoModel}.`;
  return refusal(404, message, 'model', 'model_not_found');
}

function refusal(status: number, message: string, param: string | null, code: string): Refusal {
  return new Refusal(status, message, { body: { error: { message, type: 'invalid_request_error', param, code } } });
}

/**
 * Streams a reply. Usage that was asked for is a chunk of its own, without choices, and null in the others. Without a word
 * about it, the last chunk has it too: clients that expect choices in every chunk must not meet one without.
 */
function streamCompletion(
  head: object,
  content: string,
  choices: number[],
  usage: object,
  includeUsage: boolean | undefined,
): Response {
  const event = (members: object) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...members })}\n\n`;
  const noUsage = includeUsage ? { usage: null } : {};
  const chunk = (index: number, delta: object) =>
    event({ choices: [{ index, delta, logprobs: null, finish_reason: null }], ...noUsage });
  const lastChunk = (index: number) => {
    const isLast = index === choices.length - 1;
    const members = includeUsage === undefined && isLast ? { usage } : noUsage;
    return event({ choices: [{ index, delta: {}, logprobs: null, finish_reason: 'stop' }], ...members });
  };
  // Cut between code points, never inside one.
  const pieces = content.match(/.{1,48}/gsu) ?? [];
  const events = [
    ...choices.map((index) => chunk(index, { role: 'assistant', content: '' })),
    ...pieces.flatMap((piece) => choices.map((index) => chunk(index, { content: piece }))),
    ...choices.map(lastChunk),
    ...(includeUsage ? [event({ choices: [], usage })] : []),
    'data: [DONE]\n\n',
  ];
  return new Response(events.join(''), {
    headers: { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-cache' },
  });
}
