import { basename } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { objectNamePattern } from '../../../contract/references.ts';
import type { Members } from '../../../core/json/json-object.ts';
import { valueText } from '../../../core/json/value-text.ts';
import { toSeconds } from '../../../core/timestamps.ts';
import { fieldSchema, fieldTypes, notes, notesNameFault, renderTypes } from '../../../queues/queue-fields.ts';
import { hasSampleProject, sampleProject } from '../../../runtime/runtime.ts';
import { type CheckedImport, type ImportTarget, type NewField, readImport } from '../../../service/start-service.ts';
import { describeSource, resolveSettings } from '../../../settings/resolve-settings.ts';
import { cutValue, valuesAt } from '../../../text/call-values.ts';
import { nearest, shortName } from '../../../text/names.ts';
import { pluralize } from '../../../text/page.ts';
import { exportOptions, shellWord } from '../../../tools/definition/terminal-command.ts';
import { dataFlags, withStore } from '../../access/open-store.ts';
import { invocation, programName } from '../../invocation.ts';
import { drawRecord } from '../../terminal/aligned-table.ts';
import { escapeControls, printLine, printText } from '../../terminal/print.ts';
import { drawProgress, showProgress } from '../../terminal/progress.ts';
import { UsageError } from '../../terminal/report-failure.ts';
import { resultWidth } from '../../terminal/terminal.ts';
import { addChangeFlags, requireProjectSetting, settingsOf } from '../../usage/flags.ts';
import { explain } from '../../usage/help.ts';
import { type FileFacts, readImportLines } from './import-lines.ts';
import { outputColumns } from './plain-rows.ts';
import { type ImportFormat, importFormats } from './read-rows.ts';

interface ImportFlags {
  queue?: string;
  format?: ImportFormat;
  rows?: string;
  id?: string;
  time?: string;
  inputs?: string[];
  output?: string[];
  show?: string[];
  opName?: string;
  field?: NewField[];
  guidelines?: string;
  dryRun?: true;
}

/** Adds `heddle import`. */
export function addImport(program: Command): void {
  addImportCommand(program, 'heddle import');
}

/** Adds the command that imports a file to a program or a command. @param path is how people call it. */
export function addImportCommand(parent: Command, path: string): void {
  const command = parent
    .command('import')
    .description(
      'fill a queue with the rows of a file: CSV, JSON, lines of JSON, or an export of Langfuse, LangSmith, promptfoo, OpenAI, Hugging Face or heddle; all of its rows, or none if one is invalid',
    )
    .argument('<file>', 'file to read, or - for stdin')
    .option(
      '--queue <queue>',
      "id or name of the queue to fill, created if it does not exist (default: the file's name)",
    )
    .option('--rows <path>', 'path to the rows in a file that is one JSON object, like data.items')
    .option('--id <column>', 'column with the id of the call; by default it follows from the content')
    .option('--time <column>', 'column with the time of the call')
    .option('--inputs <columns>', 'columns that are the inputs, separated by commas (default: all others)', asNames)
    .option(
      '--output <columns>',
      `columns that are the output (default: ${outputColumns.slice(0, 5).join(', ')}, …)`,
      asNames,
    )
    .option('--show <columns>', 'columns to show, or paths like attributes.model (default: inputs and output)', asNames)
    .option('--field <name:type>', `field to judge, repeatable: ${fieldForms}`, addField)
    .option('--guidelines <text>', 'how annotators should judge')
    .option('--dry-run', 'only show three rows as they will be judged')
    .addOption(new Option('--format <format>', 'csv or jsonl, where it cannot be seen').choices(importFormats))
    .option('--op-name <name>', 'name of the operation of the calls (default: that of the file, or import)');
  explain(command, {
    examples: [
      `${path} answers.csv --field 'helpful:boolean'     # columns: question, answer`,
      `${path} answers.csv --dry-run`,
      `${path} traces.jsonl --project team/support --queue review --field 'tone:kind|neutral|rude'`,
    ],
    page: 'docs/service.md#import-your-data',
    notes: [
      'Columns may be named by a path, like response.text. The file stays as it is, and importing it again adds nothing twice.',
    ],
  });
  addChangeFlags(command, [...dataFlags, 'project']);
  command.action((file: string, flags: ImportFlags) => importFile(command, file, flags));
}

const fieldForms = "'helpful:boolean', 'score:1-5', 'tone:kind|neutral|rude', 'reason:text'";

async function importFile(command: Command, file: string, flags: ImportFlags): Promise<void> {
  const { queue, rows, format, field: fields = [], guidelines, dryRun, ...columns } = flags;
  const { values, sources } = settingsOf(command);
  if (values.baseUrl !== undefined) {
    const { from, name } = sources.baseUrl;
    const advice =
      from === 'environment'
        ? `unset ${name} for it, as in \`env -u ${name} ${programName()} import FILE\``
        : 'pass --profile of one without a service';
    throw new UsageError(
      `an import goes into the embedded service, but ${describeSource(sources.baseUrl)} sets the service ${values.baseUrl}: ${advice}`,
    );
  }
  const name = file === '-' ? undefined : nameOfFile(file);
  const target = {
    projectId: values.project ?? (name === undefined ? requireProjectSetting(undefined) : `local/${name}`),
    queueId: queue ?? name ?? missingQueue(),
    fields,
    guidelines,
    onProgress: showImportProgress,
  };
  const options = {
    ...columns,
    projectId: target.projectId,
    format,
    rowsAt: rows,
    fields: fields.map((field) => field.name),
  };
  const facts: FileFacts = { formats: new Set(), skippedRows: 0 };
  const lines = readImportLines(file, options, facts);
  if (dryRun) {
    const checked = await readImport(lines, target).finally(() => showProgress(''));
    return printDryRun(checked, target, facts);
  }
  const {
    added,
    duplicates,
    feedback,
    unknownCalls = 0,
    otherQueues = [],
    newFields = [],
    lacksFields = false,
  } = await withStore(command, (store) => store.importItems(lines, target)).finally(() => showProgress(''));
  const judged =
    feedback === undefined ? '' : `, ${pluralize(feedback, 'judgement')} or score${feedback === 1 ? '' : 's'}`;
  printLine(`${added} added, ${pluralize(duplicates, 'duplicate')}${judged}`);
  // A queue whose name was mistyped is a new one.
  if (otherQueues.length > 0) {
    const others = nearest(target.queueId, otherQueues, (name) => [name])
      .map(shortName)
      .join(', ');
    invocation().stderr.write(escapeControls(`The queue ${target.queueId} is new; the project also has ${others}.\n`));
  }
  if (newFields.length > 0) {
    const noun = newFields.length === 1 ? 'a new field' : 'new fields';
    invocation().stderr.write(
      escapeControls(`The queue ${target.queueId} has ${noun} to judge: ${newFields.join(', ')}.\n`),
    );
  }
  explainFile(facts, unknownCalls);
  if (lacksFields) {
    invocation().stderr.write(
      "The queue has no field to judge: the board asks for one, or import the file again with --field 'helpful:boolean'.\n",
    );
  }
  explainJudging(command, target);
}

/** Returns the name of a file without its folder and endings, as a queue and a project can have it. */
function nameOfFile(file: string): string {
  const name = basename(file)
    .replace(/(\.[a-z]{2,5}){1,2}$/i, '')
    .split(/[^\p{L}\p{N}_.]+/u)
    .filter(Boolean)
    .join('-')
    .slice(0, 100);
  return /[\p{L}\p{N}]/u.test(name) ? name : 'import';
}

function missingQueue(): never {
  throw new UsageError('no queue: pass --queue, because stdin has no name');
}

/** Says what of the file was recognized or left out. */
function explainFile({ formats, plain, skippedRows }: FileFacts, unknownCalls: number): void {
  const { stderr } = invocation();
  if (plain) {
    const none = 'none; if a column is the output, import the file again with --output COLUMN and another --queue';
    const output = plain.output.length === 0 ? none : plain.output.join(', ');
    stderr.write(escapeControls(`Inputs: ${plain.inputs.join(', ')}. Output: ${output}.\n`));
  }
  if (formats.size > 0) stderr.write(`The file has ${[...formats].join(' and ')}.\n`);
  if (skippedRows > 0) stderr.write(`Left out ${pluralize(skippedRows, 'row')} without a call.\n`);
  if (unknownCalls > 0) {
    stderr.write(
      `Left out the judgements and scores of ${pluralize(unknownCalls, 'call')} that the project does not have: import the file with the calls, then this one again.\n`,
    );
  }
}

/** Prints the commands that show the queue in a browser and export it, and how a client gets to see a project that it does not see by default. */
function explainJudging(command: Command, { projectId, queueId }: ImportTarget): void {
  const { values, sources } = settingsOf(command);
  const { environment, folders, stderr } = invocation();
  const { project: usual } = resolveSettings({ flags: {}, environment, folders, newProfile: true }).values;
  const profile = sources.profile.from === 'flag' ? ` --profile ${values.profile}` : '';
  const folder = sources.dataDir.from === 'flag' ? ` --data-dir ${values.dataDir}` : '';
  const isUsual = projectId === (usual ?? (hasSampleProject(values) ? sampleProject : undefined));
  const project = isUsual ? '' : ` --project ${projectId}`;
  const program = programName();
  const target = `${shellWord(queueId)}${project}${profile}${folder}`;
  const isPublic = values.publicUrl !== undefined;
  stderr.write(
    isPublic
      ? `Invite a person to judge them: ${program} service invite NAME ${projectId} --queue ${shellWord(queueId)}${profile}${folder}\n`
      : `Judge them in a browser: ${program} board ${target}\n`,
  );
  stderr.write(
    `Save the judgements: ${program} queue export ${target} ${exportOptions(queueId).map(shellWord).join(' ')}\n`,
  );
  if (isUsual || isPublic) return;
  stderr.write(
    `Clients see it once ${projectId} is their project: \`${program} config set project ${projectId}${profile}\`, or for one client \`${program} setup CLIENT --project ${projectId}${folder}\`.\n`,
  );
}

const shownRows = 3;
const maxShownChars = 500;

/** Prints the first rows as annotators will see them, and where they would go. */
function printDryRun(
  { items, steps, feedback }: CheckedImport,
  { projectId, queueId, fields = [], guidelines }: ImportTarget,
  facts: FileFacts,
): void {
  const { redactor } = invocation();
  for (const { call_id, call_op_name, call_started_at, display_fields, call } of items.slice(0, shownRows)) {
    const shown = Object.entries(valuesAt(call as never, display_fields, Number.POSITIVE_INFINITY)).map(
      ([path, value]): [string, unknown] => [path, cutValue(redactor.redact(valueText(value)), maxShownChars)],
    );
    const given = feedback.filter((entry) => entry.call_id === call_id).flatMap(({ judgements }) => judgements);
    const judged = given.map(({ field, value, annotator }) => `${field} ${JSON.stringify(value)} by ${annotator}`);
    const entries: [string, unknown][] = [
      ['call', `${call_id} (${call_op_name}, ${toSeconds(call_started_at)})`],
      ...shown,
    ];
    if (call?.exception != null)
      entries.push(['failed', cutValue(redactor.redact(String(call.exception)), maxShownChars)]);
    if (judged.length > 0) entries.push(['judged', judged.join(', ')]);
    printLine(`${drawRecord(entries, resultWidth())}\n`);
  }
  const types = fields.map(({ name, field_schema: schema }) => renderTypes([{ name, schema }]));
  const judged = [...new Set(feedback.flatMap(({ judgements }) => judgements.map(({ field }) => field)))];
  const fieldNames = [...types, ...judged.filter((name) => !fields.some((field) => field.name === name))];
  printLine(`Nothing was stored. The queue ${queueId} of ${projectId} would get ${pluralize(items.length, 'item')}.`);
  if (steps.length > 0) printLine(`${pluralize(steps.length, 'call')} below them would be stored too.`);
  if (guidelines !== undefined) printText(`Guidelines: ${guidelines}`);
  printText(
    fieldNames.length > 0
      ? `To judge: ${fieldNames.join(', ')}`
      : "Without fields, judgements have any name: --field 'helpful:boolean' adds one.",
  );
  explainFile(facts, 0);
}

function asNames(text: string): string[] {
  return text.split(',').map((name) => name.trim());
}

/** Adds a field like `helpful:boolean` to those before it. */
function addField(text: string, before: NewField[] = []): NewField[] {
  const at = text.indexOf(':');
  const [name, type] = at === -1 ? [text, 'boolean'] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  if (!objectNamePattern.test(name))
    throw new InvalidArgumentError('Its name must be 1 to 128 letters, digits, dots, hyphens or underscores.');
  if (name === notes) throw new InvalidArgumentError(`Its name ${notesNameFault}.`);
  return [...before, { name, field_schema: schemaOfType(type) }];
}

function schemaOfType(type: string): Members {
  const [, min, max] = /^(-?\d{1,9})(?:-|\.\.)(-?\d{1,9})$/.exec(type) ?? [];
  if (min !== undefined && Number(min) < Number(max))
    return fieldSchema({ type: 'integer', min: Number(min), max: Number(max) });
  if (type.includes('|')) {
    const choices = type.split('|').map((choice) => choice.trim());
    if (choices.every((choice) => choice !== '')) return fieldSchema({ type: 'choice', choices });
  }
  const known = fieldTypes.find((name) => name === type && name !== 'choice');
  if (known === undefined) throw new InvalidArgumentError(`Write it like one of ${fieldForms}.`);
  return fieldSchema({ type: known });
}

const showImportProgress: ImportTarget['onProgress'] = ({ phase, done, total }) =>
  drawProgress({ unit: total === undefined ? `${phase} line` : phase, done, total });
