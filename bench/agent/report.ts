import { type Counts, type Form, forms, type Outcome, type PlayedJob } from './play-job.ts';

/**
 * Renders the played jobs as one Markdown table per form, with the faults of those that failed. Counts
 * are means of the runs of a job, and of all jobs the sums of these means.
 */
export function report(played: readonly PlayedJob[]): string {
  return forms
    .filter((form) => played.some((one) => one.form === form))
    .map((form) =>
      reportForm(
        form,
        played.filter((one) => one.form === form),
      ),
    )
    .join('\n\n');
}

function reportForm(form: Form, played: readonly PlayedJob[]): string {
  const names = [...new Set(played.map(({ job }) => job))];
  const perJob = names.map((name) => played.filter(({ job }) => job === name));
  const means = perJob.map(meanCounts);
  const total = counts.map((name) => means.reduce((sum, mean) => sum + (mean?.[name] ?? 0), 0));
  const faults = played
    .filter(({ outcome }) => outcome === 'failed' || outcome === 'broken')
    .map(({ job, outcome, faults }) => `- ${job} ${outcome}: ${firstOf(faults)}`);
  const lines = [
    `Results as ${form}`,
    '',
    line(['job', 'passed', 'calls', 'tool errors', 'tokens read', 'of results', 'tokens written']),
    line(['---', '---:', '---:', '---:', '---:', '---:', '---:']),
    ...names.map((name, index) => {
      const mean = means[index];
      return line([name, outcomes(perJob[index]!), ...counts.map((count) => (mean ? number(mean[count]) : '–'))]);
    }),
    line(['all', outcomes(played), ...total.map(number)]),
  ];
  return [...lines, ...(faults.length > 0 ? ['', ...faults] : [])].join('\n');
}

const counts = ['calls', 'toolErrors', 'tokensRead', 'resultTokens', 'tokensWritten'] as const;

/** True if the job says something about the model. */
function isCounted({ outcome }: PlayedJob): boolean {
  return outcome === 'passed' || outcome === 'failed';
}

function meanCounts(played: readonly PlayedJob[]): Counts | undefined {
  const counted = played.filter(isCounted);
  if (counted.length === 0) return undefined;
  const mean = (name: keyof Counts) => counted.reduce((sum, one) => sum + one[name], 0) / counted.length;
  return Object.fromEntries(counts.map((name) => [name, mean(name)])) as unknown as Counts;
}

/** Renders how many jobs were passed of those that count, and the others apart. */
function outcomes(played: readonly PlayedJob[]): string {
  const count = (wanted: Outcome) => played.filter(({ outcome }) => outcome === wanted).length;
  const counted = played.filter(isCounted).length;
  return [
    ...(counted > 0 ? [`${count('passed')} of ${counted}`] : []),
    ...(count('not_possible') > 0 ? [`${count('not_possible')} not possible with this server`] : []),
    ...(count('broken') > 0 ? [`${count('broken')} broken`] : []),
  ].join(', ');
}

function number(value: number): string {
  return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}

/** Faults of a job that are shown; `--json` has all. */
const maxFaults = 3;

/** Joins the first faults of a job. */
export function firstOf(faults: readonly string[]): string {
  const more = faults.length - maxFaults;
  return [...faults.slice(0, maxFaults), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
