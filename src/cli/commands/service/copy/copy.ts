import { type Command, InvalidArgumentError } from 'commander';
import type { ServiceClient } from '../../../../client/service-client.ts';
import { isProjectId } from '../../../../contract/path-segments.ts';
import { HeddleError } from '../../../../core/errors.ts';
import { ownMember } from '../../../../core/json/member-at.ts';
import { knownProjects } from '../../../../records/require-project.ts';
import { openRuntime, sampleProject } from '../../../../runtime/runtime.ts';
import type { ContentKind, Store } from '../../../../service/start-service.ts';
import { resolveProfile } from '../../../../settings/resolve-settings.ts';
import { escapeInvisible } from '../../../../text/compact-table.ts';
import { createNamedFile } from '../../../access/named-file.ts';
import { runtimeOptions } from '../../../access/runtime-options.ts';
import { invocation, withInterrupt } from '../../../invocation.ts';
import { addOutputOptions, isForPeople, type OutputForm } from '../../../terminal/output-form.ts';
import { printAligned, printJson, printLine } from '../../../terminal/print.ts';
import { drawProgress, showProgress } from '../../../terminal/progress.ts';
import { UsageError } from '../../../terminal/report-failure.ts';
import { inputsOf, settingsOf } from '../../../usage/flags.ts';
import { CopiedNames } from './copied-names.ts';
import { copyCalls } from './copy-calls.ts';
import { copyFeedback } from './copy-feedback.ts';
import { copyFiles, copyObjects } from './copy-objects.ts';
import { copyPrices } from './copy-prices.ts';
import { copyQueues } from './copy-queues.ts';
import { type CopyNote, CopyTally, type KindCounts, type ProjectCopy } from './project-copy.ts';
import { type CopyCheck, verifyCopy } from './verify-copy.ts';

interface CopyOptions extends OutputForm {
  to: string;
  toProject?: string;
  as?: Map<string, string>;
  ids?: string;
  dryRun?: true;
}

/** Defines `heddle service copy`, without the flags of the data. */
export function defineCopy(service: Command): Command {
  return addOutputOptions(
    service
      .command('copy')
      .description('copy projects to another service, from which they can be read and judged there; can be repeated')
      .requiredOption('--to <profile>', 'profile of the other service and its account; `heddle login` creates it')
      .option('--to-project <project>', 'project to copy into; by default the one of the same name', asProject)
      .option(
        '--as <user=profile>',
        'let what an account here has judged be of the account of a profile; can be repeated',
        addAccount,
      )
      .option('--ids <file>', 'file to write: a line for each call that gets a new id there')
      .option('--dry-run', 'count what would be copied, and write nothing'),
  );
}

function asProject(text: string): string {
  if (!isProjectId(text)) throw new InvalidArgumentError('It must have the shape entity/project.');
  return text;
}

function addAccount(text: string, accounts = new Map<string, string>()): Map<string, string> {
  const [, user, profile] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (!user || !profile) throw new InvalidArgumentError('Write it as USER=PROFILE.');
  return accounts.set(user, profile);
}

/** The outcome of the copy of a project. */
interface CopiedProject {
  project_id: string;
  target_project_id: string;
  counts: Record<string, KindCounts>;
  /** Entries that the target does not have, and why. */
  left: CopyNote[];
  /** Entries that the target has in another form. */
  changed: CopyNote[];
  /** Ids of calls at the target by those here, as far as they differ. */
  newIds: ReadonlyMap<string, string>;
  /** Absent after a dry run. */
  check: CopyCheck | undefined;
}

/** Copies the projects that the options name, and prints what was copied. */
export async function runCopy(command: Command, store: Store): Promise<void> {
  const options = command.opts<CopyOptions>();
  const projects = await chosenProjects(command, store, options);
  const clients = new Clients(command);
  const outcomes: CopiedProject[] = [];
  // Before anything is copied: the file may be one that cannot be written.
  const idsFile = options.ids === undefined ? undefined : createNamedFile(options.ids, 'owner');
  try {
    await withInterrupt(async (signal) => {
      const target = (await clients.open(options.to)).withSignal(signal);
      const ownAccounts = new Map<string, ServiceClient>();
      for (const [user, profile] of options.as ?? []) {
        ownAccounts.set(user, (await clients.open(profile)).withSignal(signal));
      }
      // Heddle's own service, which alone lists projects, takes ids of any form.
      const keepsIds = (await knownProjects(target)) !== undefined;
      for (const project of projects) {
        const names = new CopiedNames(project, options.toProject ?? project, keepsIds);
        const start = { target, ownAccounts, names, isDryRun: options.dryRun === true };
        outcomes.push(await copyOne(store, start));
      }
    });
    for (const line of idLines(outcomes)) idsFile?.write(line);
    idsFile?.finish();
  } catch (error) {
    idsFile?.discard();
    throw error;
  } finally {
    showProgress('');
    await clients.close();
  }
  if (isForPeople(options)) outcomes.forEach(printOutcome);
  else printJson(outcomes.map(({ newIds, ...outcome }) => ({ ...outcome, new_ids: newIds.size })));
  if (outcomes.some(({ check }) => check && check.faults.length > 0)) {
    throw new HeddleError({
      code: 'conflict',
      message: 'The target lacks some of what was copied, or has something else.',
      hint: 'Run the same command again. What is then still missing was perhaps deleted or changed at the target.',
    });
  }
}

async function chosenProjects(command: Command, store: Store, { toProject }: CopyOptions): Promise<string[]> {
  const stored = await store.projects();
  const { project } = settingsOf(command).values;
  if (project !== undefined && !stored.includes(project)) {
    throw new UsageError(`nothing is stored of ${project}; there are: ${stored.join(', ') || 'no projects'}`);
  }
  const chosen = project === undefined ? stored.filter((name) => name !== sampleProject) : [project];
  if (chosen.length === 0)
    throw new UsageError(`only the sample is stored: pass --project ${sampleProject} to copy it`);
  if (toProject !== undefined && chosen.length > 1)
    throw new UsageError('--to-project needs --project, to copy only one');
  const rest = stored.filter((name) => !chosen.includes(name));
  if (rest.length > 0) invocation().stderr.write(`${escapeInvisible(`Not copied: ${rest.join(', ')}.`)}\n`);
  return chosen;
}

/** Opens a client for each profile once. Neither flags nor the environment replace the service or the account of a profile. */
class Clients {
  readonly #command: Command;
  readonly #runtimes = new Map<string, ReturnType<typeof openRuntime>>();

  constructor(command: Command) {
    this.#command = command;
  }

  open(profile: string): Promise<ServiceClient> {
    const settings = resolveProfile(profile, { ...inputsOf(this.#command), flags: {} });
    const runtime = this.#runtimes.get(profile) ?? openRuntime(settings, runtimeOptions(settings));
    this.#runtimes.set(profile, runtime);
    return runtime.serverOptions.service();
  }

  async close(): Promise<void> {
    for (const { close } of this.#runtimes.values()) await close();
  }
}

type Start = Pick<ProjectCopy, 'target' | 'ownAccounts' | 'names' | 'isDryRun'>;

async function copyOne(store: Store, start: Start): Promise<CopiedProject> {
  const reader = store.reader(start.names.project_id);
  const { 'early ends': earlyEnds, runs, ...here } = await reader.count();
  const tally = new CopyTally(here, (kind, { here: total, there, copied }) =>
    drawProgress({ unit: kind, done: there + copied, total }),
  );
  if (earlyEnds > 0) tally.leave('calls', 'their start has not arrived here', 'ends', earlyEnds);
  if (runs > 0) tally.leave('calls', 'what evaluations that still run here have yet to record', 'runs', runs);
  const copy: ProjectCopy = { ...start, reader, tally };
  try {
    // Each thing comes after those to which it refers. What the target has is looked up, so that a repeated copy adds what is new.
    await copyFiles(copy);
    await copyObjects(copy);
    await copyPrices(copy);
    await copyCalls(copy);
    await copyQueues(copy);
    await copyFeedback(copy);
    if (!start.isDryRun) showProgress('reading the copy');
    const check = start.isDryRun ? undefined : await verifyCopy(copy);
    const { project_id, target_id } = start.names;
    const counts = Object.fromEntries(tally.counts) as Record<ContentKind, KindCounts>;
    const { left, changed } = tally;
    return { project_id, target_project_id: target_id, counts, left, changed, newIds: start.names.newIds, check };
  } catch (error) {
    throw explained(error, start);
  }
}

/** Adds the next step to a failure. */
function explained(error: unknown, { names }: Start): unknown {
  if (!(error instanceof HeddleError)) return error;
  const isAccess = error.code === 'forbidden' || error.code === 'not_found';
  const hint = isAccess
    ? `Check that the account may write to ${names.target_id} there, or name another project with --to-project.`
    : `${error.hint} Then run the same command again: it goes on where it stopped.`;
  return new HeddleError({ ...error, message: error.message, hint });
}

/** Yields a line of JSON for each call with a new id. */
function* idLines(outcomes: readonly CopiedProject[]): Generator<string> {
  for (const { project_id, target_project_id, newIds } of outcomes) {
    for (const [id, target_id] of newIds) {
      yield `${JSON.stringify({ project_id, id, target_project_id, target_id })}\n`;
    }
  }
}

function printOutcome(
  { project_id, target_project_id, counts, left, changed, check }: CopiedProject,
  place: number,
): void {
  const title = project_id === target_project_id ? project_id : `${project_id} to ${target_project_id}`;
  printLine(escapeInvisible(`${place === 0 ? '' : '\n'}${title}`));
  const rows = Object.entries(counts)
    .filter(([, { here }]) => here > 0)
    .map(([kind, { here, there, copied }]) => {
      const rest = check ? [copied, ownMember(check.compared, kind) ?? 0] : [here - there];
      return [kind, here, there, ...rest];
    });
  const names = ['kind', 'here', 'there before', ...(check ? ['copied', 'compared'] : ['to copy'])];
  printAligned([names, ...rows].map((cells) => cells.join('\t')).join('\n'));
  printNotes('Not taken by the target:', left);
  printNotes('Different there:', changed);
  if (!check) printLine('Nothing was written.');
  else if (check.faults.length === 0) printLine('Checked: all of it is there, and what was compared is equal.');
  else printLine('Missing or different there:');
  for (const { kind, fault, id } of check?.faults ?? []) printLine(escapeInvisible(`  ${kind}: ${id} ${fault}`));
}

function printNotes(title: string, notes: readonly CopyNote[]): void {
  if (notes.length === 0) return;
  printLine(title);
  for (const { kind, count, note, first } of notes) {
    printLine(escapeInvisible(`  ${count} ${kind}: ${note} (${first.join(', ')}${count > first.length ? ', …' : ''})`));
  }
}
