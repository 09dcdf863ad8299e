import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packageJson from '../../package.json' with { type: 'json' };
import { listedTools } from './listed-tools.ts';
import { heading } from './markdown.ts';
import { packedSkills } from './skills.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Returns llms.txt: what heddle is, and where a model finds the rest. */
export function llmsText(): string {
  // The page on the architecture is for those who change heddle, and not in its package.
  const pages = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md') && file !== 'architecture.md');
  const links = pages.map((file) => `- [${/^# (.+)$/m.exec(read(`docs/${file}`))![1]}](docs/${file})`);
  const tools = listedTools.map((tool) => `- \`${tool.name}\`: ${tool.description.split('\n')[0]}`);
  const skills = packedSkills().map(
    (skill) => `- [${skill.name}](skills/${skill.name}/SKILL.md): ${skill.description}`,
  );
  return `# heddle

> ${packageJson.description}. Without a service address it runs on an embedded service on this machine, with a sample project.

An MCP client starts \`heddle serve\`. \`heddle call TOOL '{…}'\` calls a tool from a shell, \`heddle tools TOOL\` shows its arguments.

## Docs

- [README](README.md): install, connect a client, first calls
${links.join('\n')}

## Tools

${tools.join('\n')}

## Skills

${skills.join('\n')}
`;
}

/** Returns AGENTS.md: what an agent must know that works on this repository, from CONTRIBUTING.md. */
export function agentsPage(): string {
  const contributing = read('CONTRIBUTING.md');
  const commands = /```sh\n[\s\S]*?```/.exec(contributing)![0];
  const rules = /^## Every change\n\n([\s\S]*)/m.exec(contributing)![1]!.trim();
  return `${heading('AGENTS.md')}
${packageJson.description}. This file is for agents that work on the code; [llms.txt](llms.txt) is for those that use heddle.

${commands}

One test file alone: \`npm test -- test/mcp/skills.test.ts\`. A test run builds the command first if \`src\` has changed.

- [CONTRIBUTING.md](CONTRIBUTING.md): add a tool, an operation or a setting, step by step; which files are generated.
- [docs/architecture.md](docs/architecture.md): the folders of \`src\`, and which may import which.

## Every change

${rules}
`;
}
