import { prompts } from '../../src/mcp/prompts.ts';
import { listedTemplates } from '../../src/mcp/resources.ts';
import { settingDefinitions } from '../../src/settings/settings.ts';
import { toolGroups } from '../../src/tools/support/tool.ts';
import { listedTools as tools } from './listed-tools.ts';
import { code, heading, table } from './markdown.ts';

type Schema = Record<string, unknown>;

/** docs/tools.md: what a model is told of each tool, with its arguments and results as tables. */
export function docsTools(): string {
  return `${heading('Tools')}
The tools in the order in which clients see them. \`heddle tools --json\` prints the same with the schemas.
${code(settingDefinitions.readOnly.environment)} offers only those that change nothing; ${code(settingDefinitions.tools.environment)} names tools or groups (${toolGroups.map(code).join(', ')}).

${table(
  ['Tool', 'Groups', 'Changes something'],
  tools.map(({ name, groups, hints }) => [
    `[${name}](#${name})`,
    groups.join(', '),
    hints.readOnlyHint ? 'no' : hints.destructiveHint ? 'yes, and replaces what was there' : 'yes, adds only',
  ]),
)}

${tools.map(toolSection).join('\n')}
## Prompts

Instructions that walk an agent through the tools, for a person to pick in the client.

${table(
  ['Prompt', 'For', 'Arguments'],
  prompts.map(({ name, description, arguments: args }) => [
    code(name),
    description,
    args.map((arg) => `${code(arg.name)}${arg.required ? '' : ' (optional)'}`).join(', '),
  ]),
)}

## Resources

${table(
  ['Template', 'Holds'],
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
  const set = Object.entries(hints).filter(([, value]) => value);
  return `## ${name}

**${title}.** ${description.split('\n').map(sentences).join('\n\n')}

Hints: ${set.map(([hint]) => code(hint)).join(', ') || 'none'}.

${members('Argument', inputJsonSchema)}

Result:

${members('Member', outputJsonSchema)}
`;
}

/** An example stands in the description as JSON; here it is code. */
function sentences(line: string): string {
  return line.replace(/(\{".*\})/, (json) => code(json));
}

function members(what: string, schema: Schema, prefix = ''): string {
  return table([what, 'Type', 'Meaning'], rows(schema, prefix));
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
