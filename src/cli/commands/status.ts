import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { version } from '../../core/version.ts';
import { dataLocation, hasSampleProject, sampleProject } from '../../runtime/runtime.ts';
import { configFileIn } from '../../settings/profiles.ts';
import { describeSource, type ResolvedSettings } from '../../settings/resolve-settings.ts';
import { type SourceKind, settingDefinitions, settingNames } from '../../settings/settings.ts';
import { readCredentials } from '../access/secrets.ts';
import { addOutputOptions, isForPeople, type OutputForm } from '../terminal/output-form.ts';
import { printJson, printLine } from '../terminal/print.ts';
import { hintForPeople } from '../terminal/report-failure.ts';
import { addSettingFlags, runtimeFlags, settingsOf } from '../usage/flags.ts';
import { explain } from '../usage/help.ts';
import { snakeCase } from '../usage/snake-case.ts';

type SourceFields = { source: SourceKind; name?: string };

/** The output of `heddle status`. */
type Status = Awaited<ReturnType<typeof readStatus>>;

export function addStatus(program: Command): void {
  const command = addOutputOptions(
    program
      .command('status')
      .description('show the service in use, every setting, and the source of each value and secret'),
  );
  explain(command, { examples: ['heddle status', 'heddle status --profile work'], page: 'docs/configuration.md' });
  addSettingFlags(command, runtimeFlags).action(async (form: OutputForm) => {
    const status = await readStatus(settingsOf(command));
    if (isForPeople(form)) printStatus(status);
    else printJson(status);
  });
}

async function readStatus(resolved: ResolvedSettings) {
  const { values, placeholders } = resolved;
  const credentials = await readCredentials(resolved);
  const sources = { ...resolved.sources, ...credentials.sources };
  const settings: Record<string, SourceFields & { value: unknown }> = {};
  /** The source of each secret, never the secret. */
  const secrets: Record<string, SourceFields> = {};
  for (const name of settingNames) {
    const { from: source, ...place } = sources[name];
    const value = name === 'username' ? credentials.username : values[name];
    if ('secret' in settingDefinitions[name]) secrets[snakeCase(name)] = { source, ...place };
    else settings[snakeCase(name)] = { value: value ?? null, source, ...place };
  }
  if (hasSampleProject(values) && values.project === undefined) {
    settings.project = { value: sampleProject, source: 'default' };
  }
  const { problem } = credentials;
  return {
    version,
    service: values.baseUrl ?? 'embedded',
    ...(values.baseUrl === undefined && {
      data: values.databaseUrl === undefined ? dataLocation(resolved) : 'PostgreSQL',
    }),
    profile: values.profile,
    config_file: configFileIn(resolved.folders),
    settings,
    secrets,
    unfilled_placeholders: placeholders,
    problem: problem && `${problem.message} ${hintForPeople(problem)}`,
  };
}

function printStatus({ service, data, config_file, settings, secrets, unfilled_placeholders, problem }: Status): void {
  printLine(
    `Service: ${service === 'embedded' ? 'embedded, on this machine, because no base URL is configured' : service}`,
  );
  if (data !== undefined)
    printLine(`Data: ${data}${data === 'PostgreSQL' || existsSync(data) ? '' : ' (created by the first call)'}`);
  printLine(`Configuration file: ${config_file}`);
  const rows: [name: string, value: string, source: string][] = [];
  for (const [name, { value, source, name: place }] of Object.entries(settings)) {
    if (source !== 'unset') rows.push([name, String(value), describeSource({ from: source, name: place })]);
  }
  for (const [name, { source, name: place }] of Object.entries(secrets)) {
    rows.push([name, source === 'unset' ? '-' : 'set', describeSource({ from: source, name: place })]);
  }
  const nameWidth = Math.max(...rows.map(([name]) => name.length));
  const valueWidth = Math.max(...rows.map(([, value]) => value.length));
  for (const [name, value, source] of rows) {
    printLine(`  ${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}  ${source}`);
  }
  for (const name of unfilled_placeholders)
    printLine(`Note: ${name} holds an unfilled placeholder and counts as unset.`);
  if (problem !== undefined) printLine(`Problem: ${problem}`);
}
