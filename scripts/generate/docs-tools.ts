import { prompts } from '../../src/mcp/mcp-prompts.ts';
import { listedTemplates } from '../../src/mcp/resources.ts';
import { settingDefinitions } from '../../src/settings/settings.ts';
import { toolGroups } from '../../src/tools/definition/tool.ts';
import { listedTools as tools } from './listed-tools.ts';
import { code, heading, table } from './markdown.ts';

type Schema = Record<string, unknown>;

/** Returns docs/tools.md: each tool's description, with tables of its arguments and its result. */
export function docsTools(): string {
  return `${heading('Tools')}
The tools, in the order in which clients see them. \`heddle tools --json\` prints them with their schemas.
${code(settingDefinitions.readOnly.environment)} offers only the tools that change nothing; ${code(settingDefinitions.tools.environment)} selects tools by name or by group (${toolGroups.map(code).join(', ')}).
Clients see shorter schemas than the tables here: a sentence that an earlier tool has for the same argument is not repeated, and where a
description begins with "As in", the members stand at that tool. heddle checks arguments against the whole schema.

${table(
  ['Tool', 'Groups', 'Changes data'],
  tools.map(({ name, groups, hints }) => [
    `[${name}](#${name})`,
    groups.join(', '),
    hints.readOnlyHint ? 'no' : hints.destructiveHint ? 'yes, and may overwrite it' : 'yes',
  ]),
)}

${tools.map(toolSection).join('\n')}
## Prompts

Step-by-step instructions for an agent. Users pick them in their client.

${table(
  ['Prompt', 'Purpose', 'Arguments'],
  prompts.map(({ name, description, arguments: args }) => [
    code(name),
    description,
    args.map((arg) => `${code(arg.name)}${arg.required ? '' : ' (optional)'}`).join(', '),
  ]),
)}

## Resources

${table(
  ['Template', 'Contents'],
  listedTemplates.map(({ uriTemplate, description = '' }) => [code(uriTemplate), description]),
)}
`;
}

function toolSection({
  name,
  title,
  description,
  hints,
  inputJsonSchema,
  outputJsonSchema,
}: (typeof tools)[number]): string {
  return `## ${name}

**${title}.** ${description.split('\n').map(withInlineCode).join('\n\n')}

Hints: ${Object.entries(hints)
    .map(([hint, value]) => code(`${hint}: ${value}`))
    .join(', ')}.

${members('Argument', inputJsonSchema)}

Result:

${members('Member', outputJsonSchema)}
`;
}

/** Formats the JSON of an example as inline code. */
function withInlineCode(line: string): string {
  return line.replace(/(\{".*\})/, (json) => code(json));
}

function members(heading: string, schema: Schema): string {
  return table([heading, 'Type', 'Meaning'], rows(schema, ''));
}

function rows(schema: Schema, prefix: string): string[][] {
  const required = new Set((schema.required ?? []) as string[]);
  return Object.entries((schema.properties ?? {}) as Record<string, Schema>).flatMap(([name, member]) => {
    const path = `${prefix}${name}`;
    const fallback = member.default === undefined ? '' : ` Default ${code(JSON.stringify(member.default))}.`;
    const row = [
      code(path),
      `${typeOf(member)}${required.has(name) && member.default === undefined ? ', required' : ''}`,
      `${String(member.description ?? '')}${fallback}`.trim(),
    ];
    const item = member.type === 'array' ? (member.items as Schema | undefined) : member;
    const inner = item?.properties ? rows(item, `${path}${member.type === 'array' ? '[].' : '.'}`) : [];
    return [row, ...inner];
  });
}

function typeOf(schema: Schema): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => code(String(value))).join(', ');
  const either = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  if (either) return either.map(typeOf).join(' or ');
  if (schema.type === 'array') return `list of ${typeOf((schema.items ?? {}) as Schema)}`;
  return schema.type === undefined ? 'anything' : [schema.type].flat().join(' or ');
}
