import { type Command, Option } from 'commander';
import type { ServiceClient } from '../../../client/service-client.ts';
import type { RunLimits } from '../../../contract/evaluations.ts';
import { splitProjectId } from '../../../contract/identifiers.ts';
import { objectIdOf } from '../../../contract/references.ts';
import { HeddleError } from '../../../core/errors.ts';
import { canonicalJson } from '../../../core/json/canonical-json.ts';
import { memberAt } from '../../../core/json/member-at.ts';
import { sumOf } from '../../../core/statistics/score-lists.ts';
import { findNamedRun } from '../../../evaluations/baselines.ts';
import { readColumns } from '../../../evaluations/check-placeholders.ts';
import { readDataset, repeatsOf } from '../../../evaluations/evaluation-plan.ts';
import { exportedTrials } from '../../../evaluations/exported-trials.ts';
import { findEvaluation, nameInReference } from '../../../evaluations/find-evaluation.ts';
import { rowChoice } from '../../../evaluations/rank-rows.ts';
import { comparisonWords } from '../../../evaluations/result-words.ts';
import { requireColumn } from '../../../evaluations/slice-rows.ts';
import type { McpServerOptions } from '../../../mcp/server.ts';
import type { Progress } from '../../../records/call-context.ts';
import { derivedName } from '../../../records/derived-name.ts';
import { readValues } from '../../../records/read-objects.ts';
import { byteOrderMark, describeDefused } from '../../../text/csv-line.ts';
import { pluralize } from '../../../text/page.ts';
import type { ObjectPage } from '../../../tools/list-objects.ts';
import { maxConcurrency } from '../../../tools/run-evaluation.ts';
import { createNamedFile, writeInParts } from '../../access/named-file.ts';
import { showView } from '../../access/show-view.ts';
import { invocation } from '../../invocation.ts';
import { addOutputOptions, isForPeople, type OutputForm } from '../../terminal/output-form.ts';
import { drawProgress, showProgress } from '../../terminal/progress.ts';
import { UsageError } from '../../terminal/report-failure.ts';
import { addSettingFlags, asNumber, asShare, asWholeNumber, runtimeFlags } from '../../usage/flags.ts';
import { explain } from '../../usage/help.ts';
import { requireTool } from '../../usage/tool-names.ts';
import { type EvaluationFile, type ModelAndPrompt, readEvaluationFile, readMessages } from './evaluation-file.ts';
import { exportForms, exportRun, type RunExportForm } from './export-run.ts';
import { type JunitSuite, junitReport } from './junit-report.ts';
import { markdownReport } from './markdown-report.ts';
import { printResult, type Results, type Run, readResultsOf } from './print-results.ts';
import { importPromptfooFile, listNotes } from './promptfoo/promptfoo-file.ts';
import { storeEvaluationFile } from './store-evaluation.ts';
import { missedThresholds, type Thresholds } from './thresholds.ts';
import { interruptedRun, waitForEnd } from './wait-for-run.ts';
import { type ToolRunner, type Trial, withTools } from './with-tools.ts';
import { readNamedText } from './yaml-file.ts';

const page = 'docs/evaluations.md';
const namedRun = 'id of the run, name of a baseline, or name of an evaluation: its newest run';
/** Runs of more requests to models than this, judges included, need --yes. */
const maxUnconfirmed = 100;
const maxJunitRows = 100_000;
const failIfWorseHelp =
  'exit with code 1 if a scorer is worse by more than chance (its whole interval is below 0), or lacks scores';

export function addEvaluation(program: Command): void {
  const evaluation = program
    .command('evaluation')
    .description(
      'run evaluations, and read, check and compare their results; exit code 1 below a threshold, 2 for wrong usage, 3 if it failed',
    );
  explain(evaluation, {
    examples: [
      "heddle evaluation run 'Support answers' --model heddle/echo --prompt 'Answer briefly: {question}'",
      "heddle evaluation list 'Support answers'",
      'heddle evaluation compare RUN_BEFORE RUN_AFTER',
    ],
    page,
  });
  addRun(evaluation);
  addResume(evaluation);
  addList(evaluation);
  addShow(evaluation);
  addCompare(evaluation);
  addBaseline(evaluation);
  addImport(evaluation);
  addExport(evaluation);
}

/** Options of the commands that show the results of runs. */
interface ResultOptions extends OutputForm {
  markdown?: string;
  rows: number;
  sliceBy?: string;
}

interface ReportOptions extends ResultOptions {
  junit?: string;
  compare?: string;
  failIfWorse?: true;
  minPassRate?: number;
  minMean?: number;
  requireCalibrated?: true;
  scorer?: string[];
  maxErrors: number;
}

interface RunOptions extends ReportOptions {
  config?: string;
  model?: string;
  prompt?: string;
  promptFile?: string;
  messagesFile?: string;
  sample?: number;
  seed?: number;
  baseline?: string;
  concurrency?: number;
  maxRequests?: number;
  maxTokens?: number;
  maxUsd?: number;
  dryRun?: true;
  yes?: true;
}

function addRun(evaluation: Command): void {
  const command = evaluation
    .command('run')
    .description('run an evaluation on a model, wait for its end, and print the results')
    .argument('[evaluation]', 'name or reference; with --config the file has it')
    .option(
      '--config <file>',
      'YAML or JSON file with the evaluation, models and prompts; other options replace what it says',
    )
    .option('--model <id>', 'model of inference, or reference to a stored model')
    .option('--prompt <text>', 'text with {column} placeholders, or reference to a stored prompt')
    .option('--prompt-file <file>', 'file with the text of the prompt')
    .option('--messages-file <file>', 'file with a JSON array of messages')
    .option('--sample <number>', 'run only so many rows, drawn by --seed', asWholeNumber(1, 10_000))
    .option('--seed <number>', 'draw other rows for --sample; 0 by default', asWholeNumber(0, 999_999_999))
    .option('--baseline <name>', 'name the complete run, like main, for later comparisons')
    .option('--concurrency <number>', `predictions at once, 1 to ${maxConcurrency}`, asWholeNumber(1, maxConcurrency))
    .option(
      '--max-requests <number>',
      'end before more requests to models, in all runs of the command',
      asWholeNumber(1, 999_999_999),
    )
    .option('--max-tokens <number>', 'end before more tokens', asWholeNumber(1, 999_999_999))
    .option('--max-usd <number>', 'end before it costs more, by the stored prices of the models', asNumber)
    .option('--dry-run', 'print what the run would take; store and start nothing')
    .option('--yes', `run without asking, also more than ${maxUnconfirmed} requests to models`);
  addReportOptions(command);
  explain(command, {
    examples: [
      "heddle evaluation run 'Support answers' --model heddle/echo --prompt 'Answer briefly: {question}' --dry-run",
      "heddle evaluation run 'Support answers' --model heddle/echo --prompt-file prompt.txt --min-pass-rate 90%",
      'heddle evaluation run --config support-answers.yaml',
    ],
    page,
  });
  addSettingFlags(command, runtimeFlags).action(async (name: string | undefined, given: RunOptions) => {
    const file = given.config === undefined ? undefined : readEvaluationFile(given.config);
    if (file && name !== undefined)
      throw new UsageError('the file of --config names the evaluation; leave out the argument');
    if (!file && name === undefined) throw new UsageError('the name of an evaluation is needed, or --config FILE');
    const written = Object.fromEntries(
      Object.entries(given).filter(([option]) => command.getOptionValueSource(option) !== 'default'),
    );
    const options: RunOptions = file ? { ...given, ...fileOptions(file), ...written } : given;
    const pairs = pairsToRun(options, file?.pairs);
    const shared = runArguments(options);
    if (pairs.length > 1 && options.baseline !== undefined) {
      throw new UsageError('--baseline can name one run only, and the file has several models or prompts');
    }
    await followRuns(command, options, async (tools, { tools: offered }, trial) => {
      if (file) for (const tool of ['create_dataset', 'create_scorer', 'create_evaluation']) requireTool(tool, offered);
      // Nothing of a file is stored before all of it has been tried.
      const tried = file ? await storeEvaluationFile(file, trial.tools) : name!;
      const runsOf = (evaluation: string): RunArguments[] => pairs.map((pair) => ({ evaluation, ...shared, ...pair }));
      const plans: Plan[] = [];
      for (const args of runsOf(tried)) {
        plans.push(await trial.tools.run('run_evaluation', { ...args, dry_run: true, confirm: options.yes }));
      }
      await checkReportNames(tried, plans[0]!, options, trial);
      if (options.dryRun) {
        // The evaluation of a file has no reference before it is stored.
        for (const { evaluation_ref, ...plan } of plans) {
          await printResult('run_evaluation', { ...plan, ...(!file && { evaluation_ref }) }, options);
        }
        return [];
      }
      requireYes(plans, options.yes, 'Add --yes, or limit it with --sample');
      return runsOf(file ? await storeEvaluationFile(file, tools) : tried);
    });
  });
}

/** Returns what a file says in the form of the options that say the same. */
function fileOptions({ sample, concurrency, budget, thresholds, baseline, compare, fail_if_worse }: EvaluationFile) {
  const options = {
    sample: sample?.n,
    seed: sample?.seed,
    concurrency,
    maxRequests: budget?.requests,
    maxTokens: budget?.tokens,
    maxUsd: budget?.usd,
    minPassRate: thresholds?.min_pass_rate,
    minMean: thresholds?.min_mean,
    maxErrors: thresholds?.max_errors,
    scorer: thresholds?.scorers,
    baseline,
    compare,
    failIfWorse: fail_if_worse || undefined,
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<RunOptions>;
}

/** Returns the models and prompts to run: each option replaces all of its kind in the file. */
function pairsToRun(
  { model, prompt, promptFile, messagesFile }: RunOptions,
  ofFile: readonly ModelAndPrompt[] = [],
): ModelAndPrompt[] {
  const given = [prompt, promptFile, messagesFile].filter((value) => value !== undefined);
  if (given.length > 1) throw new UsageError('only one of --prompt, --prompt-file and --messages-file can be given');
  if (model === undefined && ofFile.length === 0) throw new UsageError('--model is needed, or --config FILE');
  const named: Omit<ModelAndPrompt, 'model'> = {
    ...(prompt !== undefined && { prompt }),
    ...(promptFile !== undefined && { prompt: readNamedText(promptFile) }),
    ...(messagesFile !== undefined && { messages: readMessages(messagesFile) }),
  };
  const all = (ofFile.length === 0 ? [{ model: model! }] : ofFile).map((pair) => ({
    ...(given.length === 0 ? pair : named),
    model: model ?? pair.model,
  }));
  return [...new Map(all.map((pair) => [canonicalJson(pair), pair])).values()];
}

function addResume(evaluation: Command): void {
  const command = evaluation
    .command('resume')
    .description('ask again only what failed in a run or is missing from it, wait for the end, and print the results')
    .argument('<run>', namedRun)
    .option('--yes', `run without asking, also more than ${maxUnconfirmed} requests to models`);
  addReportOptions(command);
  explain(command, { examples: ['heddle evaluation resume RUN'], page });
  addSettingFlags(command, runtimeFlags).action(async (run: string, options: ReportOptions & { yes?: true }) => {
    const args = { run_id: run, only: 'errors' };
    await followRuns(command, options, async (tools) => {
      const plan: Plan = await tools.run('run_evaluation', { ...args, dry_run: true });
      const found: Results = await tools.run('read_evaluation', { run_ids: [run], limit: 1 });
      const { run_id, status, scorers = [] } = found.runs[0]!;
      if (status === 'complete' && !plan.model_requests && !scorers.some(({ errors }) => errors)) {
        invocation().stderr.write(`heddle: the run ${run_id} is complete, so nothing is asked again\n`);
        await report([run_id], options, tools);
        return [];
      }
      requireYes([plan], options.yes, 'Add --yes');
      return [args];
    });
  });
}

/**
 * Checks before a run is paid for that --scorer, --compare and --slice-by name what its report needs.
 * @throws UsageError for an unknown scorer, HeddleError for an unknown column or run, or a baseline of another evaluation.
 */
async function checkReportNames(
  evaluation: string,
  plan: Plan,
  { scorer: wanted = [], compare, sample, seed = 0, sliceBy }: RunOptions,
  { tools, options: serverOptions }: Trial,
): Promise<void> {
  if (wanted.length === 0 && compare === undefined && sliceBy === undefined) return;
  const service = (await serverOptions.service()).withSignal(tools.signal);
  const project = serverOptions.project!;
  const found = await findEvaluation(evaluation, project, service);
  const { name, val } = found;
  if (sliceBy !== undefined) {
    const columns = await readColumns(new Set([sliceBy]), await readDataset(found, service));
    requireColumn('slice_by', sliceBy, [...columns]);
  }
  const scorers = Array.isArray(val.scorers) ? val.scorers.map((each) => nameInReference(String(each))) : [];
  // A scorer may give several scores, each a member below its name.
  const unknown = wanted.find((each) => !scorers.some((known) => `${objectIdOf(each)}.`.startsWith(`${known}.`)));
  if (unknown !== undefined) {
    throw new UsageError(`no scorer ${unknown}; scorers of ${name}: ${scorers.join(', ') || 'none'}. Nothing was run`);
  }
  if (compare === undefined) return;
  const named = plan.dataset_rows === undefined ? name : derivedName(name, { n: sample!, seed });
  await findNamedRun(compare, [named], project, service).catch(async (error) => {
    const other: Results | undefined = await tools
      .run('read_evaluation', { run_ids: [compare], limit: 1 })
      .catch(() => undefined);
    if (other?.runs[0]?.run_id !== compare) throw error;
  });
}

function requireYes(plans: readonly Plan[], isAgreed: true | undefined, advice: string): void {
  const toModels = sumOf(plans.map(({ model_requests = 0 }) => model_requests)) ?? 0;
  const toJudges = sumOf(plans.map(({ judge_requests = 0 }) => judge_requests)) ?? 0;
  const estimated = sumOf(plans.flatMap(({ estimated_tokens }) => estimated_tokens ?? []));
  if (isAgreed || toModels + toJudges <= maxUnconfirmed) return;
  const tokens = estimated === undefined ? '' : `, about ${estimated} tokens without the replies`;
  const [verb, model] = plans.length === 1 ? ['run sends', 'model'] : [`${plans.length} runs send`, 'models'];
  const repeats = toJudges === 0 ? '' : ` (${repeatsOf(toJudges)})`;
  throw new UsageError(
    `the ${verb} ${toModels + toJudges} requests, ${toModels} to the ${model} and ${toJudges} to judges${repeats}${tokens}. ${advice}`,
  );
}

interface Plan {
  model_requests?: number;
  judge_requests?: number;
  estimated_tokens?: number;
  evaluation_ref?: string;
  dataset_rows?: number;
}

/**
 * Starts runs one after the other, waits for the end of each, and prints the results of all.
 * @param prepare returns the arguments that start each run; none if nothing is to be started.
 */
async function followRuns(
  command: Command,
  options: ReportOptions,
  prepare: (tools: ToolRunner, serverOptions: McpServerOptions, trial: Trial) => Promise<RunArguments[]>,
): Promise<void> {
  let reached: Progress | undefined;
  const followProgress = (progress: Progress): void => {
    const { run_id } = progress;
    // A log of CI has the id from the beginning.
    if (run_id !== undefined && run_id !== reached?.run_id) invocation().stderr.write(`run_id ${run_id}\n`);
    reached = progress;
    drawProgress(progress);
  };
  await withTools(
    command,
    async (tools, serverOptions, trial) => {
      requireTool('run_evaluation', serverOptions.tools);
      const runIds: string[] = [];
      const all = await prepare(tools, serverOptions, trial);
      for (const args of all) {
        const budget = await budgetLeft(args.budget, runIds, serverOptions);
        if (budget === null) break;
        const result = await runToEnd({ ...args, ...(budget && { budget }) }, tools).catch(async (error) => {
          const { run_id } = reached ?? {};
          if (!tools.signal.aborted || !reached || run_id === undefined) throw error;
          throw await interruptedRun(run_id, reached, serverOptions);
        });
        showProgress('');
        for (const warning of result.warnings ?? []) invocation().stderr.write(`heddle: ${warning}\n`);
        if (result.baseline !== undefined) {
          invocation().stderr.write(`heddle: the run is the baseline ${result.baseline} now\n`);
        }
        runIds.push(result.run_id);
      }
      const missing = all.length - runIds.length;
      if (missing > 0) {
        invocation().stderr.write(`heddle: ${pluralize(missing, 'run')} not started: those before took the budget\n`);
      }
      if (runIds.length > 0) await report(runIds, options, tools);
      if (missing > 0) invocation().exitCode = 3;
    },
    followProgress,
  );
}

/** Returns what earlier runs of a command have left of its budget; null if one of them has reached it. */
async function budgetLeft(
  budget: RunLimits | undefined,
  evaluation_run_ids: readonly string[],
  { service, project }: McpServerOptions,
): Promise<RunLimits | null | undefined> {
  if (budget === undefined || evaluation_run_ids.length === 0) return budget;
  const query = { evaluation_run_ids: [...evaluation_run_ids] };
  const runs = await (await service()).call('listEvaluationRuns', { path: splitProjectId(project!), query });
  const left = Object.entries(budget).map(([name, limit]) => {
    const spent = runs.map(({ summary }) => Number(memberAt(summary, ['spent', name]) ?? 0));
    return [name, limit - sumOf(spent)!] as const;
  });
  const isReached = runs.some(({ summary }) => summary?.budget_reached === true) || left.some(([, rest]) => rest <= 0);
  return isReached ? null : Object.fromEntries(left);
}

async function runToEnd(args: Record<string, unknown>, tools: ToolRunner) {
  let result = await tools.run('run_evaluation', { ...args, confirm: true });
  const { baseline } = args;
  while (result.status === 'running') {
    result = await tools.run('run_evaluation', { run_id: result.run_id, ...(baseline !== undefined && { baseline }) });
  }
  return result;
}

/** Arguments of run_evaluation. */
interface RunArguments extends Record<string, unknown> {
  /** Of all runs of the command. */
  budget?: RunLimits;
}

/** Returns the arguments of run_evaluation that every run of a command has. */
function runArguments(options: RunOptions): RunArguments {
  const { sample, seed, baseline, concurrency, maxRequests: requests, maxTokens: tokens, maxUsd: usd } = options;
  const limits = Object.entries({ requests, tokens, usd }).filter(([, limit]) => limit !== undefined);
  if (seed !== undefined && sample === undefined) throw new UsageError('--seed needs --sample');
  return {
    ...(sample !== undefined && { sample: { n: sample, ...(seed !== undefined && { seed }) } }),
    ...(baseline !== undefined && { baseline }),
    ...(concurrency !== undefined && { concurrency }),
    ...(limits.length > 0 && { budget: Object.fromEntries(limits) }),
  };
}

function addImport(evaluation: Command): void {
  const command = evaluation
    .command('import')
    .description('make a file for evaluation run --config from a configuration of promptfoo, and store nothing')
    .argument('<file>', 'promptfooconfig.yaml, or another name')
    .option('--out <file>', 'file to write; stdout by default');
  explain(command, { examples: ['heddle evaluation import promptfooconfig.yaml --out evaluation.yaml'], page });
  command.action(async (file: string, { out }: { out?: string }) => {
    const { text, notes } = await importPromptfooFile(file);
    if (out === undefined) invocation().stdout.write(text);
    else writeReport(out, text);
    const lines = listNotes(notes);
    if (lines !== '') invocation().stderr.write(`${lines}\n`);
  });
}

function addExport(evaluation: Command): void {
  const command = evaluation
    .command('export')
    .description('write all rows of a run with their whole outputs and scores, a line for each trial')
    .argument('<run>', namedRun)
    .addOption(
      new Option('--format <form>', 'html: one page for a browser, without scripts')
        .choices(exportForms)
        .default('jsonl'),
    )
    .option('--out <file>', 'file to write, for you alone; stdout by default');
  explain(command, { examples: ['heddle evaluation export RUN --format html --out results.html'], page });
  addSettingFlags(command, runtimeFlags).action(async (id: string, { format, out }: ExportOptions) => {
    await withTools(command, async (tools, serverOptions) => {
      const { runs } = await readResultsOf([id], 0, tools, {});
      const run = runs[0]!;
      const service = (await serverOptions.service()).withSignal(tools.signal);
      const context = { service, progress: drawProgress };
      const read = () => exportedTrials(run.run_id, serverOptions.project!, context);
      const defused = await writeInParts(out, async (write) => {
        if (format === 'csv') await write(byteOrderMark);
        let cells = 0;
        for await (const part of exportRun(run, format, read)) {
          showProgress('');
          await write(part.text);
          cells += part.defused;
        }
        return cells;
      });
      if (defused > 0) invocation().stderr.write(`${describeDefused(defused)}\n`);
    });
  });
}

interface ExportOptions {
  format: RunExportForm;
  out?: string;
}

function addList(evaluation: Command): void {
  const command = addOutputOptions(
    evaluation
      .command('list')
      .description('list the evaluations of the project, or the runs of one, the newest first')
      .argument('[evaluation]', 'name or reference of the evaluation whose runs to list')
      .option('--limit <number>', 'maximum number of evaluations or runs', asWholeNumber(1, 999_999), 20),
  );
  explain(command, { examples: ['heddle evaluation list', 'heddle evaluation list "Support answers"'], page });
  addSettingFlags(command, runtimeFlags).action(
    async (evaluation: string | undefined, { limit, ...form }: { limit: number } & OutputForm) => {
      await withTools(command, async (tools, serverOptions) => {
        if (evaluation !== undefined) {
          return printResult('read_evaluation', await tools.run('read_evaluation', { evaluation, limit }), form);
        }
        const page: ObjectPage = await tools.run('list_objects', { kind: 'evaluation', limit });
        const names = isForPeople(form)
          ? await namesGiven(page, (await serverOptions.service()).withSignal(tools.signal))
          : page;
        await printResult('list_objects', names, form);
      });
    },
  );
}

/** Returns a page of objects with the names that they were given in place of those in references. */
async function namesGiven({ objects, ...page }: ObjectPage, service: ServiceClient): Promise<ObjectPage> {
  const values = await readValues(
    objects.map(({ reference }) => String(reference)),
    service,
  );
  const named = objects.map(({ reference, object_id, ...object }) => {
    const name = memberAt(values.get(String(reference)), ['name']);
    // A name of an SDK that gives its object another id would not be found.
    return { name: objectIdOf(String(name)) === object_id ? name : object_id, ...object };
  });
  return { ...page, objects: named };
}

function addShow(evaluation: Command): void {
  const command = evaluation
    .command('show')
    .description('print the results of a run, the worst rows first')
    .argument('<run>', namedRun)
    .addOption(
      new Option('--only <rows>', 'failed; errors: no prediction or score; flaky: the trials differ').choices(
        rowChoice.options.filter((choice) => choice !== 'changed'),
      ),
    )
    .option('--wait', 'wait until a running evaluation ends')
    .option('--open', 'show the results in your browser instead, until Ctrl-C');
  addReportOptions(command);
  explain(command, {
    examples: ['heddle evaluation show RUN --only failed', 'heddle evaluation show RUN --wait'],
    page,
  });
  addSettingFlags(command, runtimeFlags).action(async (run: string, { open, wait, only, ...options }: ShowOptions) => {
    const args = only === undefined ? {} : { only };
    if (open) return showResults(command, { run_ids: [run], ...args });
    await withTools(command, async (tools, serverOptions) => {
      if (wait)
        for (const id of await runIdsOf({ run_ids: [run] }, tools)) await waitForEnd(id, serverOptions, tools.signal);
      await report([run], options, tools, args);
    });
  });
}

interface ShowOptions extends ReportOptions {
  only?: string;
  wait?: true;
  open?: true;
}

async function showResults(command: Command, args: Record<string, unknown>): Promise<void> {
  await withTools(command, async (tools) => void (await runIdsOf(args, tools)));
  return showView(command, {
    uri: 'ui://heddle/evaluation',
    tool: 'read_evaluation',
    args,
    noun: 'page of results',
    open: true,
  });
}

interface CompareOptions extends ResultOptions {
  failIfWorse?: true;
  open?: true;
}

function addCompare(evaluation: Command): void {
  const command = evaluation
    .command('compare')
    .description(
      'compare runs on the rows that they share: by how much better or worse, and whether that could be chance',
    )
    .argument(
      '<baseline>',
      'id of the first run, name of a baseline, or, alone, an evaluation: its newest two runs; a baseline alone: with the newest run',
    )
    .argument('[runs...]', 'ids of the runs to compare with it')
    .option('--fail-if-worse', failIfWorseHelp)
    .option('--open', 'show the comparison in your browser instead, until Ctrl-C');
  addResultOptions(command);
  explain(command, {
    examples: [
      "heddle evaluation compare 'Support answers'",
      'heddle evaluation compare RUN_BEFORE RUN_AFTER --fail-if-worse',
      'heddle evaluation compare main RUN --markdown summary.md',
    ],
    page,
  });
  addSettingFlags(command, runtimeFlags).action(async (baseline: string, others: string[], options: CompareOptions) => {
    const { rows, sliceBy, markdown, failIfWorse, open, ...form } = options;
    if (open) {
      const newest = { evaluation: baseline, compare: true };
      return showResults(command, others.length === 0 ? newest : { run_ids: [baseline, ...others] });
    }
    await withTools(command, async (tools) => {
      const args = { only: 'changed', ...(sliceBy !== undefined && { slice_by: sliceBy }) };
      const ids = others.length === 0 ? await runsToCompare(baseline, tools) : [baseline, ...others];
      const results = await readResultsOf(ids, rows, tools, args);
      if (results.runs.length === 1) {
        throw new UsageError(`${ids.join(' and ')} name the same run, so there is nothing to compare`);
      }
      if (markdown !== undefined) writeReport(markdown, markdownReport(results, { hasBaseline: true }));
      await printResult('read_evaluation', results, form);
      if (!failIfWorse) return;
      const unfinished = results.runs.find((run) => failureOf(run, 1) !== undefined);
      if (unfinished) throw unfinishedRun(unfinished, failureOf(unfinished, 1)!);
      fail(ids.slice(1).flatMap((run) => worseScorers(results, run)));
    });
  });
}

/** Returns the newest two runs of an evaluation, or the run of a baseline and the newest other one of its evaluation. */
async function runsToCompare(name: string, tools: ToolRunner): Promise<string[]> {
  try {
    return await runIdsOf({ evaluation: name, compare: true }, tools);
  } catch (error) {
    const found: Results = await tools.run('read_evaluation', { run_ids: [name], limit: 1 }).catch((ofBaseline) => {
      // Several evaluations may have a baseline of this name.
      throw ofBaseline instanceof HeddleError && ofBaseline.code === 'invalid_arguments' ? ofBaseline : error;
    });
    const { run_id: baseline, evaluation } = found.runs[0]!;
    const newest: Results = await tools.run('read_evaluation', { evaluation, limit: 2 });
    const other = newest.runs.find(({ run_id }) => run_id !== baseline);
    if (other) return [baseline, other.run_id];
    throw new UsageError(`${name} is the only run of the evaluation ${evaluation}; name a run to compare it with`);
  }
}

/** Returns the ids of the runs that read_evaluation answers with. */
async function runIdsOf(args: Record<string, unknown>, tools: ToolRunner): Promise<string[]> {
  const { runs }: Results = await tools.run('read_evaluation', { ...args, limit: 1 });
  return runs.map(({ run_id }) => run_id);
}

function addBaseline(evaluation: Command): void {
  const command = addOutputOptions(
    evaluation
      .command('baseline')
      .description('name a run, like main, so that others can be compared with it by this name')
      .argument('<name>', 'name; another run of the evaluation that has it loses it')
      .argument('<run>', namedRun),
  );
  explain(command, { examples: ['heddle evaluation baseline main RUN'], page });
  addSettingFlags(command, runtimeFlags).action(async (baseline: string, run: string, form: OutputForm) => {
    await withTools(command, async (tools, serverOptions) => {
      requireTool('run_evaluation', serverOptions.tools);
      const [id] = await runIdsOf({ run_ids: [run] }, tools);
      const result = await tools.run('run_evaluation', { run_id: id, baseline });
      // `next` names a tool, which is no command.
      const { next: _, ...shown } = result;
      await printResult('run_evaluation', isForPeople(form) ? shown : result, form);
      if (result.baseline === undefined) throw unfinishedRun(result, result.status);
    });
  });
}

/** Returns a sentence for each scorer of a run that is worse than the baseline by more than chance, or lacks scores that it has. */
function worseScorers({ comparisons = [] }: Results, runId: string): string[] {
  return comparisons
    .filter(({ run_id }) => run_id === runId)
    .flatMap(({ run_id, scorers }) =>
      scorers
        .filter(({ verdict, unscored }) => verdict === 'worse' || unscored !== undefined)
        .map((each) => `${each.scorer} of ${run_id}: ${comparisonWords(each)}`),
    );
}

/** Prints the results of runs, writes the reports, and sets the exit code of the worst: for a failed run, or a missed threshold. */
async function report(
  ids: readonly string[],
  options: ReportOptions,
  tools: ToolRunner,
  only: Record<string, unknown> = {},
): Promise<void> {
  const { junit, markdown, rows, sliceBy, compare, failIfWorse, maxErrors, ...rest } = options;
  const { minPassRate, minMean, requireCalibrated = false, scorer = [], json, table } = rest;
  if (failIfWorse && compare === undefined) throw new UsageError('--fail-if-worse needs --compare');
  const runIds = compare === undefined ? ids : [compare, ...ids];
  const args = { ...only, ...(sliceBy !== undefined && { slice_by: sliceBy }) };
  const results = await readResultsOf(runIds, rows, tools, args);
  const thresholds: Thresholds = { scorers: scorer, minPassRate, minMean, requireCalibrated };
  const outcomes = results.runs.slice(runIds.length - ids.length).map((run): RunOutcome => {
    const failure = failureOf(run, maxErrors);
    // A run without scores has nothing that a threshold could be compared with.
    const missed = failure === undefined ? missedThresholds(run, thresholds) : [];
    const named = ids.length === 1 ? missed : missed.map((reason) => `${reason} in ${run.run_id}`);
    const worse = failIfWorse && failure === undefined ? worseScorers(results, run.run_id) : [];
    return { run, failure, missed: named, worse };
  });
  const failed = outcomes.find(({ failure }) => failure !== undefined);
  const reasons = outcomes.flatMap(({ missed, worse }) => [...missed, ...worse]);
  if (junit !== undefined) {
    const suites: JunitSuite[] = [];
    for (const { run, failure, missed, worse } of outcomes) {
      const all = await readResultsOf([run.run_id], maxJunitRows, tools, {});
      suites.push({ run: all.runs[0]!, rows: all.rows, missed: [...missed, ...worse], failure });
    }
    writeReport(junit, junitReport(suites));
  }
  if (markdown !== undefined) {
    const all = outcomes.flatMap(({ missed }) => missed);
    writeReport(markdown, markdownReport(results, { hasBaseline: compare !== undefined, missed: all }));
  }
  const verdict = {
    passed: reasons.length === 0 && failed === undefined,
    ...(reasons.length > 0 && { missed: reasons }),
  };
  await printResult('read_evaluation', { ...results, ...verdict }, { json, table });
  for (const { run, failure } of outcomes) {
    const { errors, predictions, error, run_id } = run;
    if (!errors || failure !== undefined) continue;
    const cause = error === undefined ? '' : `: ${error}`;
    invocation().stderr.write(`heddle: ${errors} of ${predictions} predictions of ${run_id} failed${cause}\n`);
  }
  fail(reasons);
  if (failed) throw unfinishedRun(failed.run, failed.failure!);
}

/** A run that was asked for, with what it has not reached. */
interface RunOutcome {
  run: Run;
  failure: string | undefined;
  missed: string[];
  worse: string[];
}

function writeReport(file: string, text: string): void {
  const report = createNamedFile(file, 'as before');
  try {
    report.write(text);
    report.finish();
  } finally {
    report.discard();
  }
}

/**
 * Returns why a run did not become what was asked; undefined if it did.
 * @param maxErrors share of the predictions that may fail.
 */
function failureOf({ status, error, errors = 0, predictions }: Run, maxErrors: number): string | undefined {
  if (status === 'complete') return undefined;
  const cause = error === undefined ? '' : `: ${error}`;
  if (status === 'running' || status === 'failed' || errors === 0) return `${status}${cause}`;
  if (errors <= maxErrors * predictions) return undefined;
  return `${status} in ${predictions} predictions, more than --max-errors ${maxErrors}${cause}`;
}

function unfinishedRun({ run_id, status }: Run, reason: string): HeddleError {
  return new HeddleError({
    code: 'service_unavailable',
    message: `The run ${run_id} is ${reason}.`,
    hint:
      status === 'running'
        ? `Its figures are of what is done so far; \`heddle evaluation show ${run_id} --wait\` waits for its end.`
        : 'Correct the cause, then run it again.',
  });
}

/** Prints why a run does not pass, if there is a reason, and sets the exit code. */
function fail(reasons: readonly string[]): void {
  if (reasons.length === 0) return;
  for (const reason of reasons) invocation().stderr.write(`heddle: ${reason}\n`);
  invocation().exitCode = 1;
}

function addReportOptions(command: Command): void {
  command
    .option(
      '--min-pass-rate <share>',
      'exit with code 1 if fewer pass: 0.9 or 90%; a missing score counts as not passed',
      asShare,
    )
    .option('--min-mean <number>', 'exit with code 1 if the mean of the scores is lower', asNumber)
    .option('--max-errors <share>', 'share of the predictions that may fail; with more the run has failed', asShare, 1)
    .option('--require-calibrated', 'exit with code 1 if a judge has not shown that it agrees with people')
    .option('--scorer <name>', 'scorer that must reach it, several times for several; all by default', collect)
    .option('--compare <run>', 'compare with this run, or the baseline of this name')
    .option('--fail-if-worse', failIfWorseHelp)
    .option('--junit <file>', 'write a JUnit report, with every row');
  addResultOptions(command);
}

function addResultOptions(command: Command): void {
  command
    .option('--rows <number>', 'maximum number of rows to print', asWholeNumber(0, 99_999), 10)
    .option('--slice-by <column>', 'add the figures for each value of a column')
    .option('--markdown <file>', 'write a summary in Markdown, such as for a pull request');
  addOutputOptions(command);
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
