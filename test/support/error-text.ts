/** Reads the error from the text of an error result, as a model does: what happened, the next step, and the rest as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: members of every shape
export function parseErrorText(text: string): Record<string, any> & { code: string } {
  const [message, hint, json = '{}'] = text.split('\n');
  const { code, ...rest } = JSON.parse(json);
  return { code, message, hint, ...rest };
}
