/** The engine searches for longer text in time that can grow with the product of both lengths. */
const maxEngineChars = 200;

/** Returns whether a text contains another one, in time linear in their lengths. */
export function includesText(text: string, part: string): boolean {
  if (part.length <= maxEngineChars) return text.includes(part);
  if (part.length > text.length) return false;
  const fallbacks = fallbacksOf(part);
  let matched = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    while (matched > 0 && part.charCodeAt(matched) !== code) matched = fallbacks[matched - 1]!;
    if (part.charCodeAt(matched) === code) matched += 1;
    if (matched === part.length) return true;
  }
  return false;
}

/** Returns, for each beginning of a text, the length of its longest proper end that is a beginning too (Knuth, Morris, Pratt). */
function fallbacksOf(text: string): Int32Array {
  const lengths = new Int32Array(text.length);
  for (let at = 1, length = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    while (length > 0 && text.charCodeAt(length) !== code) length = lengths[length - 1]!;
    if (text.charCodeAt(length) === code) length += 1;
    lengths[at] = length;
  }
  return lengths;
}
