import type { InferenceResponse } from '../../contract/inference.ts';
import { type ErrorCode, HeddleError } from '../../core/errors.ts';
import { isDeeperThan, maxNesting } from '../../core/json-depth.ts';
import { errorTextOf, type RequestInfo } from '../failures.ts';
import type { TransportResponse } from '../http-transport.ts';
import { readEvents, type StreamEvent } from './event-stream.ts';
import { ReplyAssembly } from './reply-assembly.ts';

export interface StreamOptions {
  /** Longest silence in milliseconds, once something has arrived; before that only the deadline of the call counts. */
  idleTimeoutMs: number;
  /** Called with the text of the first choice received so far, for each piece. */
  onText?: (text: string) => void;
  /** Called with the number of characters received so far in all parts of the reply, whenever it has grown. */
  onProgress?: (characters: number) => void;
}

/**
 * Reads a streamed reply to its end and puts it together.
 * @throws HeddleError that carries the text received so far, when the stream breaks, stands still, or tells an error.
 */
export async function readStreamedReply(
  answer: TransportResponse,
  call: RequestInfo,
  { idleTimeoutMs, onText, onProgress }: StreamOptions,
): Promise<InferenceResponse> {
  const assembly = new ReplyAssembly();
  const fail = (code: ErrorCode, reason: string): HeddleError =>
    new HeddleError({
      code,
      message: `The streamed reply to ${call.operation} ${reason}.`,
      hint: 'partial_text is what had arrived. Sending the call again asks the model again, and is paid again.',
      status: answer.status,
      retryable: code === 'network' || code === 'timeout' || code === 'service_unavailable',
      partialText: assembly.text,
    });
  let idle: NodeJS.Timeout | undefined;
  let stalled = false;
  const onBytes = (): void => {
    idle ??= setTimeout(() => {
      stalled = true;
      answer.body.destroy(new Error('idle'));
    }, idleTimeoutMs);
    idle.refresh();
  };
  try {
    for await (const event of readEvents(answer.body, onBytes)) {
      if (event.data.trim() === '[DONE]') {
        if (assembly.begun) return assembly.reply();
        throw fail('bad_response', 'has no reply in it');
      }
      const chunk = parseChunk(event.data);
      if (!chunk && event.cut) break;
      if (!chunk) throw fail('bad_response', 'has an event that is not a JSON object');
      if (tellsError(chunk, event)) {
        throw fail('service_unavailable', `was ended by the service: ${errorTextOf(chunk, call)}`);
      }
      const before = assembly.received;
      assembly.add(chunk);
      if (assembly.received === before) continue;
      onText?.(assembly.text);
      onProgress?.(assembly.received);
    }
  } catch (error) {
    if (error instanceof HeddleError) throw error;
    if (stalled) throw fail('timeout', `stood still for ${idleTimeoutMs} ms`);
    if (error instanceof RangeError) throw fail('too_large', error.message);
    throw fail('network', `broke: ${call.redact((error as Error).message)}`);
  } finally {
    clearTimeout(idle);
    answer.body.destroy();
  }
  // Some services end without [DONE].
  if (assembly.finished) return assembly.reply();
  throw fail('network', 'ended before it was finished');
}

function parseChunk(data: string): Record<string, unknown> | undefined {
  try {
    const chunk: unknown = JSON.parse(data);
    const usable = typeof chunk === 'object' && chunk !== null && !isDeeperThan(chunk, maxNesting);
    return usable ? (chunk as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** By its event name, by its `error`, or because it is one of the service's other error bodies in the place of a chunk. */
function tellsError(chunk: Record<string, unknown>, { name }: StreamEvent): boolean {
  if (name === 'error' || chunk.error) return true;
  if ('choices' in chunk || 'object' in chunk || 'usage' in chunk) return false;
  return ['message', 'detail', 'reason'].some((member) => chunk[member]);
}
