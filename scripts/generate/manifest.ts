import packageJson from '../../package.json' with { type: 'json' };
import { type Setting, type SettingName, settingDefinitions } from '../../src/settings/settings.ts';
import { listedTools as tools } from './listed-tools.ts';

/** Settings that Claude Desktop asks the user for, with the labels of its form. */
const formFields: { name: SettingName; title: string; type: 'string' | 'boolean' }[] = [
  { name: 'baseUrl', title: 'Service address', type: 'string' },
  { name: 'project', title: 'Project', type: 'string' },
  { name: 'username', title: 'User name', type: 'string' },
  { name: 'password', title: 'Password', type: 'string' },
  { name: 'token', title: 'Bearer token', type: 'string' },
  { name: 'readOnly', title: 'Read only', type: 'boolean' },
];

/** Path of the server in the bundle. */
export const entryPoint = 'server/heddle.mjs';

/** Returns manifest.json, the manifest of the Claude Desktop bundle. */
export function mcpbManifest(): object {
  const { name, version, description, author, license, keywords, engines } = packageJson;
  const asOption = (key: SettingName): Setting => settingDefinitions[key];
  return {
    manifest_version: '0.3',
    name,
    display_name: name,
    version,
    description,
    long_description:
      'Lists the items of annotation queues with their recorded calls, records judgements, asks models with stored prompts, and sets up evaluations. Without a service address, everything runs on an embedded service on this computer, with a sample project.',
    author: { name: author },
    icon: 'assets/icon.png',
    server: {
      type: 'node',
      entry_point: entryPoint,
      mcp_config: {
        command: 'node',
        args: [`\${__dirname}/${entryPoint}`, 'serve'],
        env: Object.fromEntries(
          formFields.map(({ name: key }) => [settingDefinitions[key].environment, `\${user_config.${idOf(key)}}`]),
        ),
      },
    },
    tools: tools.map((tool) => ({ name: tool.name, description: tool.description.split('\n')[0] })),
    prompts_generated: true,
    keywords,
    license,
    compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: engines.node } },
    user_config: Object.fromEntries(
      formFields.map(({ name: key, title, type }) => [
        idOf(key),
        {
          type,
          title,
          description: sentence(asOption(key).help),
          required: false,
          // Without a default, hosts pass the placeholder itself to the server.
          default: type === 'boolean' ? asOption(key).default : '',
          ...(asOption(key).secret && { sensitive: true }),
        },
      ]),
    ),
  };
}

function idOf(name: SettingName): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function sentence(help: string): string {
  return `${help[0]!.toUpperCase()}${help.slice(1)}.`;
}
