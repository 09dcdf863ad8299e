import { HeddleError } from '../contract/errors.ts';
import type { InferenceResponse } from '../contract/run-inference.ts';
import { eventData } from './event-stream.ts';
import { type CallInfo, errorTextOf } from './failures.ts';
import { ReplyAssembly } from './reply-assembly.ts';
import type { TransportAnswer } from './transport.ts';

export interface StreamOptions {
  /** Longest silence in milliseconds. */
  idleTimeoutMs: number;
  /** Called with the text received so far, for each piece. */
  onText?: (text: string) => void;
}

/**
 * Reads a streamed reply to its end and puts it together.
 * @throws HeddleError that carries the text received so far, when the stream breaks, stands still, or tells an error.
 */
export async function readStreamedReply(
  answer: TransportAnswer,
  call: CallInfo,
  { idleTimeoutMs, onText }: StreamOptions,
): Promise<InferenceResponse> {
  const assembly = new ReplyAssembly();
  const fail = (code: 'network' | 'timeout' | 'bad_response' | 'service_unavailable', reason: string): HeddleError =>
    new HeddleError({
      code,
      message: `The streamed reply to ${call.operation} ${reason}`,
      hint: 'partial_text is what had arrived. Sending the call again asks the model again, and is paid again.',
      status: answer.status,
      retryable: code !== 'bad_response',
      partialText: assembly.text,
    });
  let stalled = false;
  const idle = setTimeout(() => {
    stalled = true;
    answer.body.destroy(new Error('idle'));
  }, idleTimeoutMs);
  try {
    for await (const data of eventData(answer.body)) {
      idle.refresh();
      if (data === '[DONE]') return assembly.reply();
      const chunk = parseChunk(data);
      if (!chunk) throw fail('bad_response', 'has an event that is not a JSON object.');
      if (chunk.error) throw fail('service_unavailable', `was ended by the service: ${errorTextOf(chunk, call)}.`);
      assembly.add(chunk);
      onText?.(assembly.text);
    }
  } catch (error) {
    if (error instanceof HeddleError) throw error;
    if (stalled) throw fail('timeout', `stood still for ${idleTimeoutMs} ms.`);
    throw fail('network', `broke: ${call.redact((error as Error).message)}.`);
  } finally {
    clearTimeout(idle);
    answer.body.destroy();
  }
  if (assembly.finished) return assembly.reply();
  throw fail('network', 'ended before it was finished.');
}

function parseChunk(data: string): Record<string, unknown> | undefined {
  try {
    const chunk: unknown = JSON.parse(data);
    return typeof chunk === 'object' && chunk !== null ? (chunk as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
