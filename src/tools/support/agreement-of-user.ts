import { HeddleError } from '../../core/errors.ts';
import type { ToolContext } from './tool.ts';

/**
 * Returns only if the user agrees to a large change. The tool starts over once the user has answered.
 * @throws HeddleError `cancelled` when the user declines, `invalid_arguments` when the client cannot ask.
 */
export function requireAgreement(question: string, { ask }: Pick<ToolContext, 'ask'>, maxUnconfirmed: number): void {
  const answer = ask(question);
  if (answer === 'yes') return;
  if (answer === 'no') {
    throw new HeddleError({
      code: 'cancelled',
      message: 'The user declined the change.',
      hint: 'Nothing was changed. Ask the user what they want.',
    });
  }
  const reason = `more than ${maxUnconfirmed} items need the user's agreement`;
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `Nothing was changed: ${reason}. The question is: ${question}`,
    hint: 'Ask the user, then call again with confirm: true, or change fewer items at once.',
    detail: [{ loc: ['arguments', 'confirm'], msg: reason, type: 'value_error' }],
  });
}
