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

/** Looks for something in the strings of JSON texts while they are scanned. */
export interface StringSearch {
  /** Begins with a text, and returns what reads its strings as {@link endOfString} does. */
  begin(text: string): typeof endOfString;
}

/** The facts about a JSON text that one pass over it finds. */
export interface JsonScan {
  /** The limit that the text exceeds: {@link maxNesting} levels, or {@link maxNodes} lists, objects and members. */
  fault: string | undefined;
  /** False if JSON.parse surely keeps the value of every number. */
  hasLargeNumber: boolean;
  /** False if JavaScript surely writes every number as it stands in the text. */
  hasUnusualNumber: boolean;
}

const [quote, openList, closeList, openObject, closeObject, colon] = [...'"[]{}:'].map((sign) => sign.charCodeAt(0));
const [dot, plus, minus, zero, exponent] = [...'.+-0e'].map((sign) => sign.charCodeAt(0));

/** Digits of the shortest integers that JSON.parse may change, and of the shortest such exponents. */
const largeIntegerDigits = 16;
const largeExponentDigits = 3;
/** Digits of the shortest fractions that JavaScript may write with an exponent, or may shorten. */
const longFractionDigits = 7;

/** Scans a JSON text once, before a parser takes memory and time for it. `search` looks through its strings. */
export function scanJson(text: string, search?: StringSearch): JsonScan {
  const readString = search?.begin(text) ?? endOfString;
  let depth = 0;
  let deepest = 0;
  let nodes = 0;
  let hasLargeNumber = false;
  let hasUnusualNumber = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = readString(text, at);
    else if (code === openList || code === openObject) {
      depth += 1;
      nodes += 1;
      if (depth > deepest) deepest = depth;
    } else if (code === closeList || code === closeObject) depth -= 1;
    else if (code === colon) nodes += 1;
    else if (isDigit(code)) {
      let end = endOfDigits(text, at);
      if (end - at >= largeIntegerDigits) hasLargeNumber = true;
      if (code === zero && text.charCodeAt(at - 1) === minus) hasUnusualNumber = true;
      if (text.charCodeAt(end) === dot) {
        const start = end + 1;
        end = endOfDigits(text, start);
        if (end - start >= longFractionDigits || text.charCodeAt(end - 1) === zero) hasUnusualNumber = true;
      }
      if ((text.charCodeAt(end) | 0x20) === exponent) hasUnusualNumber = true;
      if (hasLargeExponent(text, end)) hasLargeNumber = true;
      at = end - 1;
    }
  }
  const numbers = { hasLargeNumber, hasUnusualNumber: hasUnusualNumber || hasLargeNumber };
  if (deepest > maxNesting) return { fault: `nested deeper than ${maxNesting} levels`, ...numbers };
  const hasTooMany = nodes > maxNodes;
  return { fault: hasTooMany ? `made of more than ${maxNodes} lists, objects and members` : undefined, ...numbers };
}

/**
 * Checks a JSON text as {@link scanJson} scans it.
 * @throws JsonLimitError if it exceeds a limit.
 */
export function checkJsonLimits(text: string, search?: StringSearch): JsonScan {
  const scan = scanJson(text, search);
  if (scan.fault !== undefined) throw new JsonLimitError(scan.fault);
  return scan;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function endOfDigits(text: string, start: number): number {
  let end = start;
  while (isDigit(text.charCodeAt(end))) end += 1;
  return end;
}

/** Returns whether a positive exponent with which a number may be infinite stands at a position. */
function hasLargeExponent(text: string, at: number): boolean {
  if ((text.charCodeAt(at) | 0x20) !== exponent) return false;
  const start = text.charCodeAt(at + 1) === plus ? at + 2 : at + 1;
  return endOfDigits(text, start) - start >= largeExponentDigits;
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
