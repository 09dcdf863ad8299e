import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Observation } from '../../test/external/model-clients/observation.ts';
import { heading, table } from './markdown.ts';

const folder = join(import.meta.dirname, '../../test/external/model-clients/observed');

/** Reads what the tests in test/external/model-clients saw of each client. */
function observations(): Observation[] {
  return readdirSync(folder)
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Observation)
    .sort((one, other) => (one.client.toLowerCase() < other.client.toLowerCase() ? -1 : 1));
}

const forms = { text: 'text', structured: 'structured', both: 'both' };
const yes = (value: boolean): string => (value ? 'yes' : '');
const programs = ['Claude Code', 'Codex', 'Gemini CLI', 'GitHub Copilot CLI', 'opencode'];

function results(list: Observation[]): string {
  return table(
    ['Client', 'Version', 'The model reads', 'Instructions', 'Tokens of the tools', 'Protocol'],
    list.map(({ client, version, form, instructions, definitionTokens, revision }) => [
      client,
      version,
      forms[form],
      instructions,
      definitionTokens.toLocaleString('en'),
      revision,
    ]),
  );
}

function abilities(list: Observation[]): string {
  return table(
    ['Client', 'Asks a person', 'Progress', 'Prompts', 'Resources', 'Views'],
    list
      .filter(({ client }) => programs.includes(client))
      .map(({ client, asksPerson, progress, prompts, resources, apps }) => [
        client,
        ...[asksPerson, progress, prompts, resources, apps].map(yes),
      ]),
  );
}

/** Reports by others about clients that need a desktop or an account: asks a person, prompts, resources, Views. */
const reported: Record<string, [asksPerson: string, prompts: string, resources: string, views: string]> = {
  'Claude Desktop': ['', 'yes', 'yes', 'yes'],
  Cline: ['', '', '', ''],
  Cursor: ['yes', 'yes', 'yes', ''],
  'JetBrains AI Assistant': ['', '', '', ''],
  'VS Code (Copilot)': ['yes', 'yes', 'yes', 'yes'],
  Windsurf: ['', 'yes', 'yes', ''],
  Zed: ['no', 'yes', '', ''],
};

/** Returns docs/clients.md: what each client shows its model. */
export function docsClients(): string {
  const seen = observations();
  return `${heading('Clients')}
A result of heddle has two forms with the same facts: a compact text, and structured content. A client shows its model one of
them, or both. The tests in \`test/external/model-clients\` run each of these clients with heddle and with a model that only
records, and this table says what reached the model:

${results(seen)}

- **Both** costs the tokens of both forms; [bench/results.md](../bench/results.md) has the numbers of each.
- Tokens (o200k, to the nearest hundred) are those of the names, descriptions and arguments of all tools as the client sends
  them. Claude Code and Codex send them when their model searches for tools, unless they are configured to send all. Gemini CLI adds
  an argument to each tool; Mastra and the strict mode of OpenAI Agents write a choice with null for each optional argument.
  \`HEDDLE_TOOLS\` offers fewer tools ([configuration](configuration.md)).
- Every client shows the whole error of a call, with the next step.
- Codex shows the first 247 characters of the instructions until its model searches. The libraries leave it to the program
  to pass them on.
- GitHub Copilot CLI ran without an account, on a model of another provider (\`COPILOT_PROVIDER_BASE_URL\`).
- Mastra closes every map for models of OpenAI (\`judgements\`, \`template_vars\`, \`rows\`), so that such a model can read but not
  judge. Models of Google get the maps.
- LlamaIndex for TypeScript is no longer maintained by its makers.

What the command-line clients do with the rest of the protocol, in the same runs. A client that asks a person declares that
heddle may ask before a change of more than 20 items; without anybody at the screen the call must have \`confirm: true\`.

${abilities(seen)}

Resources are the newest queues and the boards; the client has a tool by which its model lists them. Whether a library does any
of this depends on your program. Views are pages that a chat shows, such as the
[review board](board.md).

## By report

These clients need a desktop or an account and were not run. This is what
[a survey of their documentation](https://dev.to/serverdex/which-mcp-clients-support-which-features-i-read-the-docs-59kb) (November
2026) and [the list of clients with MCP Apps](https://modelcontextprotocol.io/extensions/client-matrix) say; an empty cell means
that they say nothing.

${table(
  ['Client', 'Asks a person', 'Prompts', 'Resources', 'Views'],
  Object.entries(reported).map(([client, cells]) => [client, ...cells]),
)}
`;
}
