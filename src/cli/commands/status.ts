import type { Command } from 'commander';
import { version } from '../../core/version.ts';
import { sampleProject } from '../../runtime/runtime.ts';
import { configFile } from '../../settings/profiles.ts';
import type { ResolvedSettings } from '../../settings/resolve-settings.ts';
import { type SettingName, settingDefinitions } from '../../settings/settings.ts';
import { resultFlags, serviceFlags } from '../support/flag-lists.ts';
import { addSettingFlags, settingsOf } from '../support/flags.ts';
import { redactor } from '../support/redactor.ts';
import { readCredentials } from '../support/secrets.ts';

interface Status {
  version: string;
  /** Base URL, or `embedded`. */
  service: string;
  profile: string;
  config_file: string;
  settings: Record<string, { value: unknown; source: string; name?: string }>;
  /** Where each secret comes from; never the secret. */
  secrets: Record<string, { source: string; name?: string }>;
  unfilled_placeholders: string[];
  problem?: string;
}

/** `heddle status`: every setting and secret, and where it comes from. */
export function addStatus(program: Command): void {
  const status = program
    .command('status')
    .description('show the service in use, every setting, and where each value and secret comes from')
    .option('--json', 'print it as JSON');
  addSettingFlags(status, [...serviceFlags, ...resultFlags]).action(async ({ json }: { json?: true }) => {
    const found = await statusOf(settingsOf(status));
    process.stdout.write(json ? `${JSON.stringify(found, null, 2)}\n` : render(found));
  });
}

async function statusOf(resolved: ResolvedSettings): Promise<Status> {
  const { values, sources, placeholders } = resolved;
  const { sources: found, username, problem } = await readCredentials(resolved, redactor);
  const settings: Status['settings'] = {};
  const secrets: Status['secrets'] = {};
  for (const name of Object.keys(settingDefinitions) as SettingName[]) {
    const source = name === 'password' || name === 'token' || name === 'username' ? found[name] : sources[name];
    const from = { source: source.from, ...(source.name !== undefined && { name: source.name }) };
    if ('secret' in settingDefinitions[name]) secrets[snakeCase(name)] = from;
    else settings[snakeCase(name)] = { value: (name === 'username' ? username : values[name]) ?? null, ...from };
  }
  if (values.baseUrl === undefined && values.project === undefined) {
    settings.project = { value: sampleProject, source: 'default' };
  }
  return {
    version,
    service: values.baseUrl ?? 'embedded',
    profile: values.profile,
    config_file: configFile,
    settings,
    secrets,
    unfilled_placeholders: placeholders,
    ...(problem && { problem: `${problem.message} ${problem.hint}` }),
  };
}

function render({ service, config_file, settings, secrets, unfilled_placeholders, problem }: Status): string {
  const rows = [
    ...Object.entries(settings)
      .filter(([, { source }]) => source !== 'unset')
      .map(([name, { value, ...source }]) => [name, String(value), describeSource(source)]),
    ...Object.entries(secrets).map(([name, source]) => [
      name,
      source.source === 'unset' ? '-' : 'set',
      describeSource(source),
    ]),
  ];
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  return [
    service === 'embedded'
      ? 'Service: embedded, on this machine, since no base URL is configured'
      : `Service: ${service}`,
    `Profiles: ${config_file}`,
    ...rows.map(([name, value, source]) => `  ${name!.padEnd(widths[0]!)}  ${value!.padEnd(widths[1]!)}  ${source}`),
    ...unfilled_placeholders.map((name) => `Note: ${name} holds an unfilled placeholder and counts as unset.`),
    ...(problem === undefined ? [] : [`Problem: ${problem}`]),
    '',
  ].join('\n');
}

/** Where a value comes from, for a person. */
function describeSource({ source, name }: { source: string; name?: string }): string {
  switch (source) {
    case 'flag':
    case 'environment':
      return name ?? source;
    case 'profile':
      return `profile "${name}"`;
    case 'keychain':
      return `keychain, profile "${name}"`;
    case 'file':
      return `credentials file, profile "${name}"`;
    default:
      return source;
  }
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
