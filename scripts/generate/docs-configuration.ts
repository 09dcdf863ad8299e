import { type Setting, type SettingName, settingDefinitions } from '../../src/settings/settings.ts';
import { code, heading, table } from './markdown.ts';

/** Returns docs/configuration.md: the table of settings and where their values come from. */
export function docsConfiguration(): string {
  const all = Object.entries(settingDefinitions) as [SettingName, Setting][];
  return `${heading('Configuration')}
heddle looks for the value of a setting in these places and uses the first that has one:

1. the command-line flag,
2. the environment variable,
3. the profile in \`config.json\`: the one that \`--profile\` or \`HEDDLE_PROFILE\` names, otherwise \`default\`,
4. the default.

An empty value, or a placeholder that a host did not fill in, like \`\${user_config.token}\`, counts as absent. An invalid
value ends the command with exit code 2 and an error that names its source, not the value. \`heddle status\` shows where the value
of each setting comes from.

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

Passwords, tokens and keys have no flag, because every process on a machine can read the flags of all others.

## Environment variables of other tools

${table(
  ['Setting', 'Used when the setting has no value'],
  all.flatMap(([, { environment, weave }]) =>
    weave
      ? [[code(environment), 'environment' in weave ? code(weave.environment) : `${code(weave.value)} for Weave`]]
      : [],
  ),
)}

## Proxies

\`HTTPS_PROXY\` names the HTTP proxy for requests to https addresses, \`HTTP_PROXY\` that for http addresses. They hold for the
service, inference, the model provider of the embedded service, the keys of a token issuer, and the checks of \`heddle login\` and
\`heddle doctor\`, which says which proxy it takes. As in other programs, each may be written in lower case, which takes precedence. In
the URL of a proxy, \`http://\` may be left out, and a \`%\` in the password is written \`%25\`. https addresses are reached through a
tunnel (\`CONNECT\`), in which the proxy sees no credentials. A proxy that checks TLS itself needs its certificate authority
in \`NODE_EXTRA_CA_CERTS\`.

\`NO_PROXY\` lists hosts to reach without a proxy, like \`intranet.example, 10.1.2.3, api.example:8443\`: names, which stand also
for their subdomains, and addresses, each with a port or without; \`*\` stands for every host. Requests to this machine
(\`localhost\`, \`127.0.0.0/8\`, \`::1\`) take no proxy in any case.

Applications started from the desktop do not see the variables of your shell: set them in the \`env\` of heddle's entry there.

## Files

| | Linux | macOS | Windows |
| --- | --- | --- | --- |
| \`config.json\`, and \`credentials.json\` from \`heddle login --store file\` | \`$XDG_CONFIG_HOME/heddle\`, otherwise \`~/.config/heddle\` | \`~/Library/Preferences/heddle\` | \`%APPDATA%\\heddle\\Config\` |
| data of the embedded service: \`heddle.db\` | \`$XDG_DATA_HOME/heddle\`, otherwise \`~/.local/share/heddle\` | \`~/Library/Application Support/heddle\` | \`%LOCALAPPDATA%\\heddle\\Data\` |

\`heddle setup\` keeps the earlier version of each client's file that it changes, as \`FILE.heddle.bak\` beside it.

A profile is an object in \`config.json\`. It never contains a secret. \`heddle login\` writes it, \`heddle config set KEY VALUE\`
checks and changes one value, \`heddle config list\` shows them, and you can edit the file:

\`\`\`json config
{
  "profiles": {
    "default": { "base_url": "https://trace.wandb.ai", "project": "team/support" },
    "careful": { "base_url": "https://trace.wandb.ai", "project": "team/support", "read_only": true }
  }
}
\`\`\`

## Completion

\`heddle completion bash\`, \`zsh\` and \`fish\` print a script that completes commands, options, clients, tools and profiles.
It asks the installed heddle, so it needs no update. For bash, add \`source <(heddle completion bash)\` to \`~/.bashrc\`; for zsh,
write the script to a file \`_heddle\` in a folder of \`$fpath\`; for fish, to \`~/.config/fish/completions/heddle.fish\`.

Help and results are colored on a terminal only, and not if \`NO_COLOR\` is set.
`;
}
