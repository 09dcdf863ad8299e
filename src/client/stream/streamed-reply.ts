import type { InferenceResponse } from '../../contract/inference.ts';
import { type ErrorCode, HeddleError, undefinedOnError } from '../../core/errors.ts';
import type { HttpResponse } from '../../core/http/http-client.ts';
import { parseKeepingDigits } from '../../core/json/json-numbers.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { Pacer, type Pause, resultInTurns } from '../../core/turns.ts';
import { quotedErrorText, type RequestInfo } from '../failures.ts';
import { readEvents, type StreamEvent } from './event-stream.ts';
import { ReplyAssembly } from './reply-assembly.ts';

export interface StreamOptions {
  /** Maximum silence in milliseconds, after the first byte. Until then only the deadline of the request counts. */
  idleTimeoutMs: number;
  /** Called for each piece, with the text of the first choice so far. */
  onText?: (text: string) => void;
  /** Called for each piece, with the number of characters so far in all parts of the reply. */
  onProgress?: (characters: number) => void;
  /** Called between the steps of long work. What it throws ends the reading as a broken stream does. */
  pause?: Pause;
}

/**
 * Reads a streamed reply to its end and assembles it.
 * @throws HeddleError with the text received so far, if the stream breaks, stalls or reports an error.
 */
export async function readStreamedReply(
  response: HttpResponse,
  info: RequestInfo,
  options: StreamOptions,
): Promise<InferenceResponse> {
  const assembly = new ReplyAssembly();
  const failure = async (code: ErrorCode, reason: string): Promise<HeddleError> =>
    new HeddleError({
      code,
      message: `The streamed reply to ${info.requestLine} ${reason}.`,
      hint: 'partial_text is what had arrived. Sending the call again asks the model again, and is paid again.',
      status: response.status,
      retryable: code === 'network' || code === 'timeout' || code === 'service_unavailable',
      partialText: await info.redactCut(assembly.text),
    });
  const pacer = new Pacer(options.pause);
  let hasStalled = false;
  let idleTimer: NodeJS.Timeout | undefined;
  const restartIdleTimer = (): void => {
    clearTimeout(idleTimer);
    idleTimer = setTimeout(() => {
      hasStalled = true;
      response.body.destroy(new Error('idle'));
    }, options.idleTimeoutMs);
  };
  try {
    for await (const event of readEvents(response.body, restartIdleTimer)) {
      if (event.data.trim() === '[DONE]') {
        if (assembly.begun) return assembly.reply();
        throw await failure('bad_response', 'has no reply in it');
      }
      const chunk = parseChunk(event.data);
      if (!chunk && event.truncated) break;
      if (!chunk) throw await failure('bad_response', 'has an event that is not a JSON object');
      if (isError(chunk, event)) {
        throw await failure('service_unavailable', `was ended by the service${quotedErrorText(chunk, info)}`);
      }
      const charactersBefore = assembly.characters;
      // The work on what has arrived is no silence.
      clearTimeout(idleTimer);
      await resultInTurns(assembly.add(chunk), options.pause);
      await pacer.pause();
      restartIdleTimer();
      if (assembly.characters === charactersBefore) continue;
      options.onText?.(assembly.text);
      options.onProgress?.(assembly.characters);
    }
  } catch (error) {
    if (error instanceof HeddleError) throw error;
    if (hasStalled) throw await failure('timeout', `stalled for ${options.idleTimeoutMs} ms`);
    if (error instanceof RangeError) throw await failure('too_large', error.message);
    throw await failure('network', `broke: ${info.redact((error as Error).message)}`);
  } finally {
    clearTimeout(idleTimer);
    response.body.destroy();
  }
  // Some services end a stream without [DONE].
  if (assembly.finished) return assembly.reply();
  throw await failure('network', 'ended before it was finished');
}

function parseChunk(data: string): Record<string, unknown> | undefined {
  const chunk = undefinedOnError(() => parseKeepingDigits(data));
  return typeof chunk === 'object' && chunk !== null ? (chunk as Record<string, unknown>) : undefined;
}

/** Returns whether a chunk reports an error: by its event name, by its `error`, or by being another error body. */
function isError(chunk: Record<string, unknown>, { event }: StreamEvent): boolean {
  if (event === 'error' || chunk.error) return true;
  if ('choices' in chunk || 'object' in chunk || 'usage' in chunk) return false;
  return ['message', 'detail', 'reason'].some((member) => ownMember(chunk, member));
}
