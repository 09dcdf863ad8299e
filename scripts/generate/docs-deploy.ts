import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { table } from './markdown.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const mark = '<!-- Made by `npm run generate` from bench/results.md. -->\n';

/** docs/deploy.md, whose sizes are those of the last bench; all else in it is written by hand. */
export function docsDeploy(): string {
  const [before, , after] = readFileSync(join(root, 'docs/deploy.md'), 'utf8').split(mark);
  if (after === undefined)
    throw new Error('docs/deploy.md has to hold two marks of what is made from bench/results.md');
  return `${before}${mark}\n${sizing(readFileSync(join(root, 'bench/results.md'), 'utf8'))}\n${mark}${after}`;
}

function sizing(results: string): string {
  /** The part of the results that fits, or an end that says what is missing. */
  const find = (form: RegExp): string[] => {
    const found = form.exec(results)?.slice(1);
    if (!found) throw new Error(`bench/results.md has nothing of the form ${form}`);
    return found;
  };
  const rows = ['1 item', '50 items', '1000 items'].map((page) => {
    const [perSecond = '', cpu = ''] = find(
      new RegExp(`### ${page}, concurrency 32\\n[^#]*\\| heddle, HTTP \\|[^|]*\\|[^|]*\\| ([\\d.]+) \\| ([\\d.]+) `),
    );
    return [page, perSecond, `${cpu} ms`, `${Math.floor(1000 / Number(cpu))}`];
  });
  const [machine] = find(/\n(\d{4}-\d\d-\d\d · [^\n]*?Node v[\d.]+)/);
  const [start] = find(/\| heddle \|(?:[^|]*\|){4} ([\d.]+) \|/);
  const [paging] = find(/Resident megabytes at each tenth[^;]*; the most at any time was\n?\s*([\d.]+)\./);
  const [reply] = find(/\| 30 MB \|[^|]*\|[^|]*\| ([\d.]+) \|/);
  return `${table(['Answer', 'calls/s of one process', 'processor time of a call', 'calls/s that fill one core'], rows)}

Measured with 32 calls at once, client and service on the same machine: ${machine}.

A process has ${start} MB when it has started. It had at most ${paging} MB while a million items were paged through, 1,000 at a
time, and ${reply} MB for a moment with an inference reply of 30 MB. All of it: [bench/results.md](../bench/results.md).
`;
}
