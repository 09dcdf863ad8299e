import { type Setting, type SettingName, settingDefinitions, settingNames } from '../../settings/settings.ts';

/** Settings that only `heddle serve --http` needs, and that have flags. */
export const httpFlags: readonly SettingName[] = [
  'oauthIssuer',
  'publicUrl',
  'oauthAudience',
  'subjects',
  'loginIssuer',
  'loginClientId',
];

/** Settings of a board that a server shows. */
export const boardFlags: readonly SettingName[] = ['publicUrl', 'loginIssuer', 'loginClientId'];

/** The other settings that have flags. */
export const runtimeFlags: readonly SettingName[] = settingNames.filter(
  (name) => 'flag' in settingDefinitions[name] && !httpFlags.includes(name),
);

/**
 * Returns the settings that a command line gives as flags, as text, if it asks for the server on stdin and stdout and has
 * nothing but such flags. MCP clients start heddle like this, and need not wait for the parser of all commands.
 * @returns undefined for any other command line, and for one that may be wrong.
 */
export function flagsOfStdioServer(args: readonly string[]): Partial<Record<SettingName, string>> | undefined {
  const { flags, rest } = splitLeadingSettings(args[0] === 'serve' ? args.slice(1) : args);
  return rest.length === 0 && !args.some((word) => outputForms.includes(word)) ? flags : undefined;
}

const outputForms: readonly string[] = ['--json', '--table'];

/** Splits a command line behind the settings and forms of output with which it begins. `flags` has the settings as text. */
export function splitLeadingSettings(args: readonly string[]): {
  settings: string[];
  flags: Partial<Record<SettingName, string>>;
  rest: string[];
} {
  const flags: Partial<Record<SettingName, string>> = {};
  let end = 0;
  while (end < args.length) {
    if (outputForms.includes(args[end]!)) {
      end += 1;
      continue;
    }
    const [, flag, given] = /^(--[a-z-]+)(?:=(.*))?$/s.exec(args[end]!) ?? [];
    const name = runtimeFlags.find((candidate) => textOf(candidate).split(' ')[0] === flag);
    if (name === undefined) break;
    const takesValue = textOf(name).includes(' ');
    const isNextWord = takesValue && given === undefined;
    const value = isNextWord ? args[end + 1] : (given ?? 'true');
    if (value === undefined || value.startsWith('-') || (given !== undefined && !takesValue)) break;
    flags[name] = value;
    end += isNextWord ? 2 : 1;
  }
  return { settings: args.slice(0, end), flags, rest: args.slice(end) };
}

/** Returns the text of a flag in the settings table, like `--project <entity/project>`. */
function textOf(name: SettingName): string {
  const { flag = '' }: Setting = settingDefinitions[name];
  return flag;
}
