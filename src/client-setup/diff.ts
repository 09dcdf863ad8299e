const contextLines = 3;

/**
 * The difference of two texts as a person reads it: lines that go with `-`, that come with `+`, and a few around them.
 * One region is enough for an edit of one entry. Values that look like secrets are not shown: they belong to other servers.
 */
export function diffOf(before: string, after: string): string[] {
  const old = linesOf(before);
  const now = linesOf(after);
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  const most = Math.min(old.length, now.length) - head;
  while (tail < most && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;

  const marked = (mark: string, lines: string[]): string[] => lines.map((line) => mark + hideSecrets(line));
  return [
    ...marked(' ', now.slice(Math.max(0, head - contextLines), head)),
    ...marked('-', old.slice(head, old.length - tail)),
    ...marked('+', now.slice(head, now.length - tail)),
    ...marked(' ', now.slice(now.length - tail, now.length - tail + contextLines)),
  ];
}

function linesOf(text: string): string[] {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function hideSecrets(line: string): string {
  return line.replace(/((?:key|token|secret|password|authorization)\w*"?\s*[:=]\s*)"[^"]*"/gi, '$1"…"');
}
