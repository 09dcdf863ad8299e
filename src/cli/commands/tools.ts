import type { Command } from 'commander';
import { offerFlags } from '../support/flag-lists.ts';
import { addSettingFlags, settingsOf } from '../support/flags.ts';

/** `heddle tools`: what the server offers. */
export function addTools(program: Command): void {
  const command = program
    .command('tools')
    .description('list the tools, their schemas and hints')
    .option('--json', 'print everything that clients see, as JSON');
  addSettingFlags(command, ['profile', ...offerFlags]).action(async ({ json }: { json?: true }) => {
    const [{ listedTool }, { selectTools }] = await Promise.all([
      import('../../mcp/server.ts'),
      import('../../tools/support/registry.ts'),
    ]);
    const { readOnly, tools: only } = settingsOf(command).values;
    const listedTools = selectTools({ readOnly, only }).map(listedTool);
    if (json) {
      process.stdout.write(`${JSON.stringify(listedTools, null, 2)}\n`);
      return;
    }
    for (const { name, title, description, inputSchema, annotations } of listedTools) {
      const required = new Set((inputSchema.required as string[] | undefined) ?? []);
      const names = Object.keys(inputSchema.properties ?? {}).map((key) => (required.has(key) ? `${key}*` : key));
      const hints = Object.entries(annotations ?? {})
        .filter(([, value]) => value === true)
        .map(([hint]) => hint);
      process.stdout.write(
        `${name}: ${title}\n  ${description?.replaceAll('\n', '\n  ')}\n  Arguments: ${names.join(', ')}\n  Hints: ${hints.join(', ') || 'none'}\n\n`,
      );
    }
    process.stdout.write('* required. `heddle tools --json` prints the schemas.\n');
  });
}
