import { type Setting, type SettingName, settingDefinitions } from '../../src/settings/settings.ts';
import { code, heading, table } from './markdown.ts';

/** docs/configuration.md: the table of settings, and the rules by which their values are found. */
export function docsConfiguration(): string {
  const all = Object.entries(settingDefinitions) as [SettingName, Setting][];
  return `${heading('Configuration')}
Every setting can come from several places. The first of these that has a value counts:

1. the flag of the command,
2. the environment,
3. the profile in \`config.json\`: the one that \`--profile\` or \`HEDDLE_PROFILE\` names, else \`default\`,
4. the default.

An empty value and a placeholder that a host left unfilled, like \`\${user_config.token}\`, count as absent. A value that
cannot be read ends the command with exit code 2 and names the place that it came from. \`heddle status\` shows for each
setting where its value comes from.

${table(
  ['Environment', 'Flag', 'Profile key', 'Default', 'Meaning'],
  all.map(([, { environment, flag, profile, default: fallback, help, secret }]) => [
    code(environment),
    flag ? code(flag) : '',
    profile ? code(profile) : '',
    fallback === undefined ? '' : code(String(fallback)),
    `${help[0]!.toUpperCase()}${help.slice(1)}.${secret ? ' Secret.' : ''}`,
  ]),
)}

No password, token or key has a flag, because every process of a machine can read the flags of every other.

## Names that other tools use

${table(
  ['Setting', 'Where heddle has no value of its own'],
  all.flatMap(([, { environment, weave }]) =>
    weave
      ? [[code(environment), 'environment' in weave ? code(weave.environment) : `${code(weave.value)} for Weave`]]
      : [],
  ),
)}

## Files

| | Linux | macOS | Windows |
| --- | --- | --- | --- |
| \`config.json\`, and \`credentials.json\` of \`login --store file\` | \`$XDG_CONFIG_HOME/heddle\`, else \`~/.config/heddle\` | \`~/Library/Preferences/heddle\` | \`%APPDATA%\\heddle\\Config\` |
| data of the embedded service, \`heddle.db\` | \`$XDG_DATA_HOME/heddle\`, else \`~/.local/share/heddle\` | \`~/Library/Application Support/heddle\` | \`%LOCALAPPDATA%\\heddle\\Data\` |
| compiled code, for faster starts; can be removed at any time, and is not kept with \`NODE_DISABLE_COMPILE_CACHE=1\` | \`$XDG_CACHE_HOME/heddle\`, else \`~/.cache/heddle\` | \`~/Library/Caches/heddle\` | \`%LOCALAPPDATA%\\heddle\\Cache\` |

A profile is one object of \`config.json\`. It never holds a secret; \`heddle login\` writes it, and it can be edited by hand:

\`\`\`json config
{
  "profiles": {
    "default": { "base_url": "https://trace.wandb.ai", "project": "team/support" },
    "careful": { "base_url": "https://trace.wandb.ai", "project": "team/support", "read_only": true }
  }
}
\`\`\`
`;
}
