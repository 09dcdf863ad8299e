import { Argument, type Command } from 'commander';
import { memberAt, ownMember } from '../../core/json/member-at.ts';
import { configFileIn, type Profile, readProfiles, writeProfile } from '../../settings/profiles.ts';
import { resolveSettings } from '../../settings/resolve-settings.ts';
import { type Setting, settingDefinitions, settingNames } from '../../settings/settings.ts';
import { invocation } from '../invocation.ts';
import { drawRecord } from '../terminal/aligned-table.ts';
import { addOutputOptions, isForPeople, type OutputForm } from '../terminal/output-form.ts';
import { printJson, printLine } from '../terminal/print.ts';
import { didYouMean, isSecretName, UsageError } from '../terminal/report-failure.ts';
import { resultWidth } from '../terminal/terminal.ts';
import { addSettingFlags, flagsOf } from '../usage/flags.ts';
import { completeWith, explain } from '../usage/help.ts';

/** Adds `heddle config`, which shows and changes the values of a profile. Secrets are none of them. */
export function addConfig(program: Command): void {
  const config = program
    .command('config')
    .description('show or change the values of a profile in the configuration file');
  explain(config, {
    examples: [
      'heddle config list',
      'heddle config set project team/support',
      'heddle config set read_only true --profile careful',
      'heddle config unset project',
    ],
    page: 'docs/configuration.md',
  });
  const add = (name: string, description: string): Command => config.command(name).description(description);
  const list = addOutputOptions(add('list', 'show the values of a profile, and the names of the others'));
  list.action((form: OutputForm) => listValues(profileNameOf(list), form));
  const get = add('get', 'print one value').addArgument(keyArgument());
  get.action((key: string) => printValue(profileNameOf(get), key));
  const set = add('set', 'check a value and store it').addArgument(keyArgument()).argument('<value>', 'its value');
  set.action((key: string, value: string) => setValue(profileNameOf(set), key, value));
  const unset = add('unset', 'remove a value, so that the default applies').addArgument(keyArgument());
  unset.action((key: string) => unsetValue(profileNameOf(unset), key));
  for (const command of config.commands) addSettingFlags(command, ['profile']);
}

function keyArgument(): Argument {
  return completeWith(new Argument('<key>', `one of ${keys().join(', ')}`), keys);
}

/** Returns the keys of a profile that people set; `login` manages the store. */
function keys(): string[] {
  return settingNames.flatMap((name) => (settingDefinitions[name] as Setting).profile ?? []);
}

/** Returns the profile that the flag or the environment names. It need not exist. */
function profileNameOf(command: Command): string {
  const { folders, environment: given } = invocation();
  const { HEDDLE_PROFILE } = given;
  const environment = HEDDLE_PROFILE === undefined ? {} : { HEDDLE_PROFILE };
  return resolveSettings({ flags: flagsOf(command), environment, folders, newProfile: true, profiles: {} }).values
    .profile;
}

function listValues(name: string, form: OutputForm): void {
  const { folders } = invocation();
  const profiles = readProfiles(folders);
  const profile = ownMember(profiles, name);
  if (!isForPeople(form)) {
    printJson({ profile: name, config_file: configFileIn(folders), values: profile ?? {} });
    return;
  }
  const others = Object.keys(profiles).filter((other) => other !== name);
  printLine(`Profile "${name}" of ${configFileIn(folders)}`);
  if (profile === undefined || Object.keys(profile).length === 0)
    printLine('It has no values; every setting has its default.');
  else printLine(drawRecord(Object.entries(profile), resultWidth()));
  if (others.length > 0) printLine(`Other profiles: ${others.join(', ')}`);
}

function printValue(name: string, key: string): void {
  requireKey(key);
  const value = memberAt(readProfiles(invocation().folders), [name, key]);
  if (value === undefined)
    throw new UsageError(`profile "${name}" has no ${key}; \`heddle status\` shows the value in use`);
  printLine(String(value));
}

function setValue(name: string, key: string, value: string): void {
  requireKey(key);
  if (value === '') throw new UsageError(`the value is empty; \`heddle config unset ${key}\` removes a value`);
  const { folders } = invocation();
  const profile: Profile = { ...ownMember(readProfiles(folders), name), [key]: value };
  // Refuses what no command could use later, and gives numbers and booleans their type.
  const { values } = resolveSettings({
    flags: { profile: name },
    environment: {},
    folders,
    profiles: { [name]: profile },
  });
  const setting = settingNames.find((each) => (settingDefinitions[each] as Setting).profile === key)!;
  const parsed = values[setting];
  const stored = typeof parsed === 'number' || typeof parsed === 'boolean' ? parsed : value;
  writeProfile(name, { ...profile, [key]: stored }, folders);
  printLine(`${key} of profile "${name}" is now ${stored}. Clients that run heddle must be restarted to use it.`);
}

function unsetValue(name: string, key: string): void {
  requireKey(key);
  const { folders } = invocation();
  const profile = ownMember(readProfiles(folders), name) ?? {};
  const { [key]: _, ...rest } = profile;
  if (ownMember(profile, key) === undefined) {
    printLine(`Profile "${name}" has no ${key}.`);
    return;
  }
  resolveSettings({ flags: { profile: name }, environment: {}, folders, profiles: { [name]: rest } });
  writeProfile(name, rest, folders);
  printLine(`Removed ${key} from profile "${name}".`);
}

function requireKey(key: string): void {
  if (keys().includes(key)) return;
  throw new UsageError(
    `unknown key '${key}'${didYouMean(key, keys())}; keys: ${keys().join(', ')}${isSecretName(key) ? '. Secrets are no values of a profile: `heddle login` stores them' : ''}`,
  );
}
