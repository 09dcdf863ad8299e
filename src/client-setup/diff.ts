const contextLines = 3;

/**
 * Lists the lines that an edit removes (`-`) and adds (`+`), with a few unchanged lines around them. Shows a single region,
 * which is enough for one entry, and hides the secrets of other servers.
 */
export function diffOf(before: string, after: string): string[] {
  const oldLines = linesOf(before);
  const newLines = linesOf(after);
  const shorter = Math.min(oldLines.length, newLines.length);
  let start = 0;
  while (start < shorter && oldLines[start] === newLines[start]) start += 1;
  let tail = 0;
  while (tail < shorter - start && oldLines.at(-1 - tail) === newLines.at(-1 - tail)) tail += 1;

  const newEnd = newLines.length - tail;
  return [
    ...newLines.slice(Math.max(0, start - contextLines), start).map((line) => ` ${line}`),
    ...oldLines.slice(start, oldLines.length - tail).map((line) => `-${line}`),
    ...newLines.slice(start, newEnd).map((line) => `+${line}`),
    ...newLines.slice(newEnd, newEnd + contextLines).map((line) => ` ${line}`),
  ].map(hideSecrets);
}

function linesOf(text: string): string[] {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** Hides the value of each member whose name suggests a secret, unless the value only names a variable of the environment. */
function hideSecrets(line: string): string {
  return line.replace(
    /((?:key|token|secret|password|authorization)\w{0,64}"?\s*[:=]\s*)"([^"]*)"/gi,
    (whole, name: string, value: string) => (/^(Bearer )?\$?\{(env:)?\w{1,128}\}$/.test(value) ? whole : `${name}"…"`),
  );
}
