import packageJson from '../../package.json' with { type: 'json' };
import { type Setting, settingDefinitions } from '../../src/settings/settings.ts';

/** Returns server.json, the entry in the MCP registry. */
export function serverJson(): object {
  const { mcpName, name, version, description } = packageJson;
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: mcpName,
    title: name,
    description,
    version,
    packages: [
      {
        registryType: 'npm',
        identifier: name,
        version,
        runtimeHint: 'npx',
        transport: { type: 'stdio' },
        packageArguments: [{ type: 'positional', value: 'serve' }],
        environmentVariables: Object.values(settingDefinitions).map(variable),
      },
    ],
  };
}

function variable({ environment, help, default: fallback, secret }: Setting): object {
  return {
    name: environment,
    description: help,
    format: typeof fallback === 'boolean' || typeof fallback === 'number' ? typeof fallback : 'string',
    isRequired: false,
    isSecret: secret === true,
    ...(fallback !== undefined && { default: String(fallback) }),
  };
}
