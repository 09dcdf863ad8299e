import { randomBytes } from 'node:crypto';
import type { InferenceRequest } from '../../contract/inference.ts';
import { Refusal } from '../http/refusal.ts';

/** The built-in model: no language model, but everything around one can be tried with it. */
export const echoModel = 'heddle/echo';

const preamble =
  'This is heddle/echo, not a language model: it repeats the messages it received. Its usage counts characters, not tokens.';

/** What `GET /models` answers when there is no upstream. */
export function echoModels() {
  return { object: 'list', data: [{ id: echoModel, object: 'model', created: 0, owned_by: 'heddle' }] };
}

/** Answers like an OpenAI chat completion, in one piece or as a server-sent event stream. */
export function answerAsEcho(path: string, request: InferenceRequest, messages: unknown[]): Response {
  if (path !== '/chat/completions') {
    throw unavailable(
      `Without a model provider only /chat/completions is answered, not ${path}.`,
      null,
      'unknown_path',
    );
  }
  if (request.model !== echoModel) {
    throw unavailable(
      `The model ${request.model} does not exist here: without a model provider there is only ${echoModel}.`,
      'model',
      'model_not_found',
    );
  }
  const received = JSON.stringify(messages, null, 2);
  const content = `${preamble}\n${received}`;
  const choices = Array.from({ length: Math.min(Math.max(request.n ?? 1, 1), 128) }, (_, index) => index);
  const prompt_tokens = characters(received);
  const completion_tokens = characters(content) * choices.length;
  const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
  const head = {
    id: `chatcmpl-${randomBytes(9).toString('hex')}`,
    created: Math.floor(Date.now() / 1000),
    model: echoModel,
  };

  if (!request.stream) {
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
  const chunk = (members: object) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...members })}\n\n`;
  const part = (index: number, delta: object, finish_reason: string | null = null) =>
    chunk({ choices: [{ index, delta, logprobs: null, finish_reason }] });
  // Cut between code points, never inside one.
  const pieces = content.match(/.{1,48}/gsu) ?? [];
  const events = [
    ...choices.map((index) => part(index, { role: 'assistant', content: '' })),
    ...pieces.flatMap((piece) => choices.map((index) => part(index, { content: piece }))),
    ...choices.map((index) => part(index, {}, 'stop')),
    chunk({ choices: [], usage }),
    'data: [DONE]\n\n',
  ];
  return new Response(events.join(''), {
    headers: { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-cache' },
  });
}

function unavailable(message: string, param: string | null, code: string): Refusal {
  return new Refusal(404, { error: { message, type: 'invalid_request_error', param, code } });
}

function characters(text: string): number {
  return Array.from(text).length;
}
