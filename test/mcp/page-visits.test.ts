import { expect, it, onTestFinished, vi } from 'vitest';
import { ServiceClient } from '../../src/client/service-client.ts';
import { Redactor } from '../../src/core/secrets/redaction.ts';
import { messageJson, noteJson } from '../../src/mcp/message-json.ts';
import { runTool } from '../../src/mcp/run-tool.ts';
import { tools } from '../../src/tools/definition/registry.ts';
import { sendResponse, startFakeService } from '../support/fake-service.ts';
import { plainItem } from '../support/plain-item.ts';

const items = Array.from({ length: 200 }, (_, index) => ({
  ...plainItem,
  id: `item-${index}`,
  call_id: `call-${index}`,
  call_started_at: `2026-01-01T00:00:00.${100 + index}Z`,
}));
const pageJson = JSON.stringify({ items });

/** Counts how often each member of an item is read, by its name. */
const reads = new Map<PropertyKey, number>();
function counted<Item extends object>(item: Item): Item {
  return new Proxy(item, {
    get(target, name) {
      reads.set(name, (reads.get(name) ?? 0) + 1);
      return Reflect.get(target, name);
    },
  });
}

it('reads a page of items three times at most between one JSON.parse and one JSON.stringify', async () => {
  const service = await startFakeService();
  service.respond = (incoming) => sendResponse(incoming, 200, pageJson);
  const redactor = new Redactor();
  redactor.protect('password-of-mia');
  const client = new ServiceClient({
    connect: async () => ({ baseUrl: service.url, basic: { username: 'mia', password: 'password-of-mia' } }),
    userAgent: 'test',
    redactValue: (value, pause) => redactor.redactValueInSteps(value, pause),
    searchSecrets: () => redactor.search(),
  });
  const { parse, stringify } = JSON;
  const parsed = vi.spyOn(JSON, 'parse').mockImplementation((text: string, ...rest) => {
    const value = parse(text, ...rest);
    return text === pageJson ? { items: value.items.map(counted) } : value;
  });
  const written = vi
    .spyOn(JSON, 'stringify')
    .mockImplementation((...args: Parameters<typeof stringify>) => stringify(...args));
  onTestFinished(() => {
    parsed.mockRestore();
    written.mockRestore();
    client.close();
  });

  const tool = tools.find(({ name }) => name === 'query_queue_items')!;
  const { signal } = new AbortController();
  const outcome = await runTool(
    tool,
    { queue_id: 'q', limit: 1000 },
    { signal },
    {
      service: async () => client,
      project: 'a/b',
      text: 'compact',
      maxResultChars: 1_000_000,
      log: () => {},
      redactor,
      tools,
    },
  );
  if ('error' in outcome) throw outcome.error;
  const { data, text, json } = outcome;
  noteJson(data, json);
  const result = { content: [{ type: 'text' as const, text }], structuredContent: { ...data } };
  const line = messageJson({ jsonrpc: '2.0', id: 1, result: { ...result, structuredContent: data as object } });

  expect(parse(line)).toEqual(parse(stringify({ jsonrpc: '2.0', id: 1, result })));
  expect(parsed.mock.calls.filter(([read]) => read === pageJson)).toHaveLength(1);
  expect(written.mock.calls.filter(([value]) => stringify(value)?.includes('"id":"item-199"'))).toHaveLength(1);
  // The check reads every member, and then the rows are read; states are also remembered, and times made readable.
  const readsOfItem = (name: string): number => reads.get(name)! / items.length;
  expect(['created_by', 'call_id', 'annotation_state', 'call_started_at'].map(readsOfItem)).toEqual([2, 2, 3, 3]);
  expect(Math.max(...reads.values()) / items.length).toBe(3);
});
