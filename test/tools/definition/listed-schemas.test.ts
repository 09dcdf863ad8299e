import { describe, expect, it } from 'vitest';
import { type ListedTool, tools } from '../../../src/tools/definition/registry.ts';

type Schema = Record<string, unknown>;

/** Returns every schema within a schema, with its path. */
function schemasOf(schema: Schema, path: string): { path: string; schema: Schema }[] {
  const { properties = {}, items, anyOf = [] } = schema as { properties?: object; items?: Schema; anyOf?: Schema[] };
  return [
    { path, schema },
    ...Object.entries(properties).flatMap(([name, member]) => schemasOf(member, `${path}.${name}`)),
    ...(items ? schemasOf(items, `${path}[]`) : []),
    ...anyOf.flatMap((option, index) => schemasOf(option, `${path}|${index}`)),
  ];
}

const inputs = tools.flatMap(({ name, inputJsonSchema }: ListedTool) => schemasOf(inputJsonSchema, name));

describe('the listed schemas of arguments', () => {
  it('give every member one type, or a choice of types without null', () => {
    const types = ['string', 'number', 'integer', 'boolean', 'array', 'object'];
    const untyped = inputs.filter(({ schema }) => !types.includes(String(schema.type)) && !Array.isArray(schema.anyOf));
    expect(untyped.map(({ path }) => path)).toEqual([]);
  });

  it('offer only choices of strings, numbers and booleans, since LangChain rejects choices with an object', () => {
    const choices = inputs.filter(({ path }) => path.includes('|'));
    expect(choices.map(({ path, schema }) => [path, schema.type])).toEqual([
      ['query_queue_items.filter.value|0', 'string'],
      ['query_queue_items.filter.value|1', 'number'],
      ['query_queue_items.filter.value|2', 'boolean'],
    ]);
  });

  it('have no empty list of properties, which several converters take for an object without members', () => {
    const empty = inputs.filter(({ schema }) => schema.properties && Object.keys(schema.properties).length === 0);
    expect(empty.map(({ path }) => path)).toEqual([]);
  });

  it('give the type of the items of each array, and use no tuples', () => {
    const lists = inputs.filter(({ schema }) => schema.type === 'array');
    expect(lists.length).toBeGreaterThan(10);
    const unclear = lists.filter(({ schema }) => Array.isArray(schema.items) || !schema.items || schema.prefixItems);
    expect(unclear.map(({ path }) => path)).toEqual([]);
  });

  it('have true or false as additionalProperties', () => {
    const other = inputs.filter(({ schema }) => typeof (schema.additionalProperties ?? true) !== 'boolean');
    expect(other.map(({ path }) => path)).toEqual([]);
  });

  it('use no keyword that converters for models do not know', () => {
    const known = ['type', 'description', 'properties', 'required', 'items', 'enum', 'anyOf'];
    const keywords = new Set(inputs.flatMap(({ schema }) => Object.keys(schema)));
    expect([...keywords].sort()).toEqual([...known, 'additionalProperties'].sort());
  });
});
