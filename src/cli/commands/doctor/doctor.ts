import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { ownInferenceUrl } from '../../../client/connection.ts';
import { HeddleError } from '../../../core/errors.ts';
import { HttpClient } from '../../../core/http/http-client.ts';
import { ownMember } from '../../../core/json/member-at.ts';
import { build, oldestNode, version } from '../../../core/version.ts';
import { fetchKeys } from '../../../mcp/oauth/issuer-keys.ts';
import { hasSampleProject } from '../../../runtime/runtime.ts';
import { configFileIn, readProfiles, storeOf } from '../../../settings/profiles.ts';
import { describeSource, type ResolvedSettings } from '../../../settings/resolve-settings.ts';
import type { Credentials } from '../../../settings/secrets/credentials.ts';
import { settingDefinitions, settingNames } from '../../../settings/settings.ts';
import { ownServer } from '../../access/connect-to-server.ts';
import { openSecretStore, readCredentials } from '../../access/secrets.ts';
import { invocation, withProgramName } from '../../invocation.ts';
import { addOutputOptions, isForPeople, type OutputForm } from '../../terminal/output-form.ts';
import { printJson, printLine } from '../../terminal/print.ts';
import { hintForPeople } from '../../terminal/report-failure.ts';
import { paint } from '../../terminal/terminal.ts';
import { addSettingFlags, flagArguments, runtimeFlags, settingsOf } from '../../usage/flags.ts';
import { explain } from '../../usage/help.ts';
import { snakeCase } from '../../usage/snake-case.ts';
import { checkClients } from './check-clients.ts';
import { checkDatabase, checkDataFile, folderAdvice } from './check-data.ts';
import { checkModelProvider } from './check-model-provider.ts';
import { checkService } from './check-service.ts';
import { type Finding, failure, ok, warning } from './finding.ts';
import { tryServer } from './try-server.ts';

/** Oldest major version of Node that its makers still fix. */
const oldestSupportedNode = 22;

type Findings = Iterable<Finding> | AsyncIterable<Finding>;
/** Yields nothing if the settings give it nothing to check. What it throws is reported as a failure. */
type Check = (settings: ResolvedSettings) => Findings | Promise<Findings>;

const checks: [name: string, check: Check, advice?: string][] = [
  ['configuration', checkConfiguration],
  ['keychain', checkKeychain],
  ['service', checkRemoteService],
  ['token issuer', checkIssuer],
  ['data file', checkDataFile, folderAdvice],
  ['database', checkDatabase],
  ['model provider', checkModelProvider, 'Start the model provider, or correct HEDDLE_MODEL_PROVIDER_URL.'],
  ['MCP', checkHandshake, 'Run `heddle serve` in a terminal to see what it prints.'],
  ['clients', checkClients],
];

export function addDoctor(program: Command): void {
  const doctor = addOutputOptions(
    program
      .command('doctor')
      .description(
        'check the configuration, the credentials, the connection and each operation, and say how to fix problems',
      ),
  );
  explain(doctor, {
    examples: ['heddle doctor', 'heddle doctor --profile work --json'],
    page: 'docs/troubleshooting.md',
  });
  addSettingFlags(doctor, [...runtimeFlags, 'oauthIssuer']).action(async (form: OutputForm) => {
    const json = !isForPeople(form);
    const findings: Finding[] = [];
    for await (const finding of runChecks(doctor)) {
      const redacted = invocation().redactor.redactStrings(finding);
      findings.push(redacted);
      if (!json) printLine(formatFinding(redacted));
    }
    const failures = findings.filter(({ state }) => state === 'failure').length;
    // Without settings, nothing else was checked.
    const isUnusable = findings.some(({ check, state }) => check === 'configuration' && state === 'failure');
    invocation().exitCode = failures === 0 ? 0 : isUnusable ? 2 : 1;
    if (json) return printJson({ ok: failures === 0, findings });
    printLine(failures === 0 ? 'Nothing failed.' : `Failed checks: ${failures}.`);
  });
}

const colors = { ok: 'green', warning: 'yellow', failure: 'red' } as const;

function formatFinding({ check, state, message, advice }: Finding): string {
  const line = `${paint(colors[state], state.padEnd(7))}  ${check}: ${message}`;
  return advice === undefined ? line : `${line}\n         ${withProgramName(advice)}`;
}

/** Runs all checks, from the configuration up to an MCP session. */
async function* runChecks(doctor: Command): AsyncGenerator<Finding> {
  yield* checkVersion();
  let settings: ResolvedSettings;
  try {
    settings = settingsOf(doctor);
  } catch (error) {
    yield failureOf('configuration', error);
    return;
  }
  for (const [name, check, advice] of checks) {
    try {
      yield* await check(settings);
    } catch (error) {
      yield failureOf(name, error, advice);
    }
  }
}

function* checkVersion(): Generator<Finding> {
  const { node } = process.versions;
  const message = `heddle ${version} (${build}) on Node ${node}, ${process.platform} ${process.arch}`;
  const isOld = node.localeCompare(oldestNode, 'en', { numeric: true }) < 0;
  yield isOld ? failure('version', message, `Install Node ${oldestNode} or later.`) : ok('version', message);
  if (Number.parseInt(node, 10) >= oldestSupportedNode) return;
  const advice =
    'Install Node 22 or 24. Only this version needs the package @photostructure/sqlite for the embedded service.';
  yield warning('Node', `Node ${node} is out of support: it gets no security fixes since April 2026`, advice);
}

function failureOf(check: string, error: unknown, advice?: string): Finding {
  return failure(check, (error as Error).message, error instanceof HeddleError ? hintForPeople(error) : advice);
}

function* checkConfiguration({ values, sources, folders, placeholders }: ResolvedSettings): Generator<Finding> {
  const configFile = configFileIn(folders);
  const set = settingNames
    .filter((name) => sources[name].name !== undefined)
    .map((name) => `${snakeCase(name)} from ${describeSource(sources[name])}`);
  const file = existsSync(configFile) ? configFile : `${configFile}, which does not exist`;
  yield ok('configuration', `profile "${values.profile}" of ${file}`);
  yield ok('configuration', set.join(', ') || 'every setting has its default value');
  if (values.baseUrl === undefined) {
    yield ok('configuration', 'no base URL is set, so the embedded service on this machine is used');
  } else {
    const { baseUrl, inferenceUrl } = values;
    const ownUrl = ownInferenceUrl({ baseUrl, ...(inferenceUrl !== undefined && { inferenceUrl }) });
    yield ok('configuration', `the service is ${baseUrl}${ownUrl === undefined ? '' : `, its inference is ${ownUrl}`}`);
  }
  if (values.project === undefined && !hasSampleProject(values)) {
    const advice = 'Set HEDDLE_PROJECT, or run `heddle login --project ENTITY/PROJECT`.';
    yield warning('configuration', 'no project is set, so every tool call must name one', advice);
  }
  for (const name of placeholders) {
    const advice = 'Fill in the field in the settings of the application that starts heddle, or remove the variable.';
    yield warning('configuration', `${name} holds an unfilled placeholder and counts as unset`, advice);
  }
}

/** A broken keychain is a failure only if the profile keeps its secrets there. */
async function checkKeychain({ values, folders }: ResolvedSettings): Promise<Finding[]> {
  const isUsed = storeOf(ownMember(readProfiles(folders), values.profile)) === 'keychain';
  try {
    await openSecretStore('keychain', values).read(values.profile);
    return [ok('keychain', `can be read${isUsed ? ', and this profile uses it' : ''}`)];
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    if (isUsed) return [failure('keychain', error.message, hintForPeople(error))];
    if (error.code === 'not_configured') {
      return [ok('keychain', 'this machine has none, and this profile needs none')];
    }
    return [ok('keychain', `${error.message} This profile does not use it.`)];
  }
}

async function* checkRemoteService(settings: ResolvedSettings): AsyncGenerator<Finding> {
  const { values } = settings;
  if (values.baseUrl === undefined) return;
  const credentials = await readCredentials(settings);
  yield* checkCredentials(credentials);
  yield* checkService(values.baseUrl, credentials, values);
}

/** Password and token serve different operations, so one alone is useful. */
function checkCredentials({ sources, problem }: Credentials): Finding[] {
  const areBothUnset = sources.password.from === 'unset' && sources.token.from === 'unset';
  return (['password', 'token'] as const).map((name) => {
    if (sources[name].from !== 'unset') return ok('credentials', `${name} from ${describeSource(sources[name])}`);
    const message = `no ${name}. ${problem?.message ?? ''}`.trim();
    const advice =
      (problem && hintForPeople(problem)) ?? `Run \`heddle login\`, or set ${settingDefinitions[name].environment}.`;
    return areBothUnset || problem ? failure('credentials', message, advice) : warning('credentials', message, advice);
  });
}

async function checkIssuer({ values }: ResolvedSettings): Promise<Finding[]> {
  const { oauthIssuer } = values;
  if (oauthIssuer === undefined) return [];
  const { address, keys } = await fetchKeys(oauthIssuer, new HttpClient({ proxies: values }));
  return [ok('token issuer', `${oauthIssuer} publishes its keys at ${address}, ${keys.keys.length} in all`)];
}

/** Connects to `heddle serve` with the flags of this command. Its stderr appears on the terminal. */
async function checkHandshake(settings: ResolvedSettings): Promise<Finding[]> {
  const { session, found, fault } = await tryServer(
    ownServer(flagArguments(settings), invocation().environment),
    settings,
  );
  const connected = ok('MCP', `a client connected to \`heddle serve\` over stdio, ${session}`);
  if (fault !== undefined) return [connected, failure('MCP', fault)];
  return found === undefined ? [connected] : [connected, ok('MCP', found)];
}
