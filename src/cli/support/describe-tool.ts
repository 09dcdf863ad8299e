import type { JsonSchema } from '../../tools/support/arguments.ts';
import type { ListedTool } from '../../tools/support/registry.ts';
import { drawTable } from './table.ts';
import { paint } from './terminal.ts';

/** Depth to which the members of an argument are listed. */
const maxDepth = 4;

/** Describes a tool for people: its purpose, an example for the shell, its arguments and hints. */
export function describeTool(tool: ListedTool, width: number): string {
  const { name, title, description, inputJsonSchema, hints } = tool;
  const example = /^Example: (\{.*\})$/m.exec(description)?.[1];
  const purpose = description.replace(/^Example: .*$/m, '').trim();
  const trueHints = Object.entries(hints).flatMap(([hint, value]) => (value ? [hint] : []));
  const rows = argumentRows(inputJsonSchema);
  return [
    `${paint('bold', name)}: ${title}`,
    '',
    purpose,
    '',
    paint('bold', 'Arguments (* required):'),
    rows.length === 0 ? 'none' : drawTable(rows, { width, uncut: ['argument'] }),
    ...(example === undefined ? [] : ['', paint('bold', 'Example:'), `  $ heddle call ${name} '${example}'`]),
    '',
    `${paint('bold', 'Hints:')} ${trueHints.join(', ') || 'none'}`,
    `${paint('bold', 'Documentation:')} docs/tools.md#${name}`,
  ].join('\n');
}

/** Returns a row for each argument and each member of it. */
function argumentRows(schema: JsonSchema, path = '', depth = 0): Record<string, string>[] {
  const required = (schema.required ?? []) as string[];
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const place = `${path}${name}`;
    const { default: fallback, description = '' } = member as { default?: unknown; description?: string };
    const row = {
      argument: required.includes(name) ? `${place}*` : place,
      type: typeOf(member),
      default: fallback === undefined ? '' : JSON.stringify(fallback),
      description,
    };
    if (depth >= maxDepth) return [row];
    const inner = member.items?.properties ? member.items : member;
    return [row, ...argumentRows(inner, inner === member ? `${place}.` : `${place}[].`, depth + 1)];
  });
}

function typeOf(schema: JsonSchema): string {
  const { type, enum: values, anyOf, items } = schema as JsonSchema & { enum?: unknown[]; anyOf?: JsonSchema[] };
  if (values) return values.map(String).join('|');
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' or ');
  if (type === 'array') return `list of ${items ? typeOf(items) : 'values'}`;
  return Array.isArray(type) ? type.join(' or ') : String(type ?? 'any');
}
