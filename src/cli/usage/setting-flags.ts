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
export function flagsOfStdioServer([first, ...rest]: readonly string[]):
  | Partial<Record<SettingName, string>>
  | undefined {
  const words = first === undefined || first === 'serve' ? rest : [first, ...rest];
  const flags: Partial<Record<SettingName, string>> = {};
  while (words.length > 0) {
    const [, flag, given] = /^(--[a-z-]+)(?:=(.*))?$/s.exec(words.shift()!) ?? [];
    const name = runtimeFlags.find((candidate) => textOf(candidate).split(' ')[0] === flag);
    if (name === undefined) return undefined;
    const takesValue = textOf(name).includes(' ');
    const value = given ?? (takesValue ? words.shift() : 'true');
    if (value === undefined || value.startsWith('-') || (given !== undefined && !takesValue)) return undefined;
    flags[name] = value;
  }
  return flags;
}

/** Returns the text of a flag in the settings table, like `--project <entity/project>`. */
function textOf(name: SettingName): string {
  const { flag = '' }: Setting = settingDefinitions[name];
  return flag;
}
