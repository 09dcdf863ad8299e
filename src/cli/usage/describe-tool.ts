import type { JsonSchema } from '../../tools/definition/arguments.ts';
import type { ListedTool } from '../../tools/definition/registry.ts';
import { programName } from '../invocation.ts';
import { drawRecord } from '../terminal/aligned-table.ts';
import { paint } from '../terminal/terminal.ts';

/** Depth to which the members of an argument are listed. */
const maxDepth = 4;

/** Describes a tool for people: its purpose, an example for the shell, its arguments and hints. */
export function describeTool(tool: ListedTool, width: number): string {
  const { name, title, description, inputJsonSchema, hints } = tool;
  const example = /^Example: (\{.*\})$/m.exec(description)?.[1];
  const purpose = description.replace(/^Example: .*$/m, '').trim();
  const trueHints = Object.entries(hints).flatMap(([hint, value]) => (value ? [hint] : []));
  const texts = argumentTexts(inputJsonSchema);
  return [
    `${paint('bold', name)}: ${title}`,
    '',
    purpose,
    '',
    paint('bold', 'Arguments (* required):'),
    drawRecord(Object.entries(texts), width) || 'none',
    ...(example === undefined ? [] : ['', paint('bold', 'Example:'), `  $ ${programName()} call ${name} '${example}'`]),
    '',
    `${paint('bold', 'Hints:')} ${trueHints.join(', ') || 'none'}`,
    `${paint('bold', 'Documentation:')} docs/tools.md#${name}`,
  ].join('\n');
}

/** Returns the description of each argument and each member of it, by its path. */
function argumentTexts(schema: JsonSchema, path = '', depth = 0): Record<string, string> {
  const required = (schema.required ?? []) as string[];
  const texts: Record<string, string> = {};
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const place = `${path}${name}`;
    const { default: fallback, description } = member as { default?: unknown; description?: string };
    const type = fallback === undefined ? typeOf(member) : `${typeOf(member)}, default ${JSON.stringify(fallback)}`;
    texts[required.includes(name) ? `${place}*` : place] = description === undefined ? type : `${type}: ${description}`;
    if (depth >= maxDepth) continue;
    const isList = member.items?.properties !== undefined;
    Object.assign(
      texts,
      argumentTexts(isList ? member.items! : member, isList ? `${place}[].` : `${place}.`, depth + 1),
    );
  }
  return texts;
}

function typeOf(schema: JsonSchema): string {
  const { type, enum: values, anyOf, items } = schema as JsonSchema & { enum?: unknown[]; anyOf?: JsonSchema[] };
  if (values) return values.map(String).join('|');
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' or ');
  if (type === 'array') return `list of ${items ? typeOf(items) : 'values'}`;
  return Array.isArray(type) ? type.join(' or ') : String(type ?? 'any');
}
