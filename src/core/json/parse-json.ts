/** Maximum nesting of JSON that heddle reads; walking through deeper values could overflow the stack. */
export const maxNesting = 500;
/**
 * Maximum number of lists, objects and members in JSON that heddle reads. More of them take a parser seconds that nothing
 * can interrupt, within a size that is harmless for text.
 */
export const maxNodes = 1_000_000;

/** The error of {@link parseJsonText} for text that is nested too deeply or has too many values. */
export class JsonLimitError extends SyntaxError {}

/**
 * Parses JSON that comes from outside; a byte order mark before it is skipped.
 * @throws JsonLimitError as {@link checkJsonLimits} does; SyntaxError for text that is not JSON.
 */
export function parseJsonText(text: string): unknown {
  checkJsonLimits(text);
  return parseCheckedJson(text);
}

/** Parses JSON that {@link checkJsonLimits} has accepted. @throws SyntaxError for text that is not JSON. */
export function parseCheckedJson(text: string): unknown {
  const { stackTraceLimit } = Error;
  // Millions of faulty lines take several times longer with a stack for each.
  Error.stackTraceLimit = 0;
  try {
    return JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const [quote, openList, closeList, openObject, closeObject, colon] = [...'"[]{}:'].map((sign) => sign.charCodeAt(0));

/**
 * Checks a JSON text before a parser takes memory and time for it.
 * @throws JsonLimitError for more than {@link maxNesting} levels, or more than {@link maxNodes} lists, objects and members.
 */
export function checkJsonLimits(text: string): void {
  let depth = 0;
  let nodes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === openList || code === openObject) {
      depth += 1;
      nodes += 1;
      if (depth > maxNesting) throw new JsonLimitError(`nested deeper than ${maxNesting} levels`);
    } else if (code === closeList || code === closeObject) depth -= 1;
    else if (code === colon) nodes += 1;
  }
  if (nodes > maxNodes) throw new JsonLimitError(`made of more than ${maxNodes} lists, objects and members`);
}

/** Returns the position of the quote that ends the string which begins at `start`, or the length of the text. */
export function endOfString(text: string, start: number): number {
  let end = start;
  do end = text.indexOf('"', end + 1);
  while (end !== -1 && isEscaped(text, end));
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}

/** Returns whether lists and objects of a parsed JSON value are nested deeper than `levels`. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(member, levels - 1));
}
