import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { docsClients } from './docs-clients.ts';
import { docsCommandLine } from './docs-command-line.ts';
import { docsConfiguration } from './docs-configuration.ts';
import { docsConnect } from './docs-connect.ts';
import { docsDeploy } from './docs-deploy.ts';
import { docsErrors } from './docs-errors.ts';
import { docsTools } from './docs-tools.ts';
import { icons } from './icons.ts';
import { listedToolsFile, pinnedTools } from './listed-tools.ts';
import { mcpbManifest } from './manifest.ts';
import { agentsPage, llmsText } from './pages-for-agents.ts';
import { pluginFiles } from './plugins.ts';
import { serverJson } from './server-json.ts';
import { packedSkills } from './skills.ts';

const biome = 'node_modules/@biomejs/biome/bin/biome';
const root = fileURLToPath(new URL('../..', import.meta.url));

/** Every generated file of the repository by its path, as it must be. */
export async function generated(): Promise<Record<string, string>> {
  return {
    'src/tools/definition/listed.json': listedToolsFile(),
    'src/mcp/skills.json': formatted('skills.json', JSON.stringify(packedSkills())),
    'src/mcp/icons.json': formatted('icons.json', JSON.stringify(icons())),
    'src/mcp/revisions.json': formatted('revisions.json', JSON.stringify(SUPPORTED_PROTOCOL_VERSIONS)),
    'manifest.json': formatted('manifest.json', JSON.stringify(mcpbManifest(), null, 2)),
    'test/pins/tools.json': pinnedTools(),
    'docs/tools.md': docsTools(),
    'docs/clients.md': docsClients(),
    'docs/command-line.md': await docsCommandLine(),
    'docs/configuration.md': docsConfiguration(),
    'docs/errors.md': docsErrors(),
    'docs/deploy.md': docsDeploy(),
    'server.json': formatted('server.json', JSON.stringify(serverJson(), null, 2)),
    'llms.txt': llmsText(),
    'AGENTS.md': agentsPage(),
    'docs/connect.md': docsConnect(),
    ...Object.fromEntries(
      Object.entries(pluginFiles()).map(([path, file]) => [path, formatted(path, JSON.stringify(file, null, 2))]),
    ),
  };
}

/** As `npm run format` would leave it, so that a generated file passes the same checks as a written one. */
function formatted(name: string, text: string): string {
  return execFileSync(process.execPath, [join(root, biome), 'format', `--stdin-file-path=${name}`], {
    cwd: root,
    input: text,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}
