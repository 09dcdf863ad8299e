import { HeddleError, invalidArgument } from '../../core/errors.ts';
import type { ToolContext } from './tool.ts';

/** Changes of more things than this need the user's consent. */
export const maxUnconfirmed = 20;
/** More requests to models than this, judges included, need the user's consent. */
export const maxUnconfirmedRequests = 100;

/** A change that needs the user's consent. */
export interface ConsentRequest {
  /** Question that names the number of things, like `Add 57 calls to queue q?`. */
  question: string;
  /** Reason of the refusal where the user cannot be asked, like `adding 57 calls needs the user's agreement`. */
  reason: string;
  /** The alternative without the user's consent; by default to change fewer things. */
  alternative?: string;
}

/**
 * Returns only if the user consents. The tool starts over once the user has answered, so call this before anything that has
 * effects, and not at all if the call has `confirm: true`.
 * @throws HeddleError `cancelled` if the user declines, `invalid_arguments` if the client cannot ask or the user does not answer.
 */
export function requireConsent(
  { question, reason, alternative = `change at most ${maxUnconfirmed} at once` }: ConsentRequest,
  { ask }: Pick<ToolContext, 'ask'>,
): void {
  const answer = ask(question);
  if (answer === 'yes') return;
  if (answer === 'no') {
    throw new HeddleError({
      code: 'cancelled',
      message: 'The user declined the change.',
      hint: 'Nothing was changed. Ask the user what they want.',
    });
  }
  throw invalidArgument('confirm', {
    consequence: 'Nothing was changed',
    fault: reason,
    hint: `Ask the user, then call again with confirm: true, or ${alternative}.`,
    terminalHint: `Run it at a terminal, where heddle asks you, or add "confirm": true to the arguments, or ${alternative}.`,
  });
}
