import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ServiceClient } from '../../src/client/service-client.ts';
import { Redactor } from '../../src/core/secrets/redaction.ts';
import { connect } from '../../src/mcp/connect.ts';
import { FrontDoor } from '../../src/mcp/front-door.ts';
import { LineTransport } from '../../src/mcp/line-transport.ts';
import { serverFactory } from '../../src/mcp/server.ts';
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
  const fake = await startFakeService();
  fake.respond = (incoming) => sendResponse(incoming, 200, pageJson);
  const redactor = new Redactor();
  redactor.protect('password-of-mia');
  const client = new ServiceClient({
    connect: async () => ({ baseUrl: fake.url, basic: { username: 'mia', password: 'password-of-mia' } }),
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

  const input = new PassThrough();
  const output = new PassThrough();
  const transport = new LineTransport(output, () => {});
  const options = {
    project: 'a/b',
    text: 'compact' as const,
    maxResultChars: 1_000_000,
    terminal: { program: 'heddle', flags: new Map() },
    instructions: '',
  };
  const service = async () => client;
  const close = connect(
    serverFactory({ ...options, service, log: () => {}, redactor, tools }),
    new FrontDoor(transport, { ...options, tools }),
    () => {},
  );
  onTestFinished(close);
  void transport.read(input);
  const lines = createInterface(output)[Symbol.asyncIterator]();
  const ask = async (id: number, method: string, params: object): Promise<string> => {
    input.write(`${stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return (await lines.next()).value;
  };
  await ask(1, 'initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  });
  const line = await ask(2, 'tools/call', { name: 'query_queue_items', arguments: { queue_id: 'q', limit: 1000 } });

  const { result, ...envelope } = parse(line);
  expect(envelope).toEqual({ jsonrpc: '2.0', id: 2 });
  expect(Object.keys(result)).toEqual(['content', 'structuredContent']);
  expect(result.structuredContent.items).toHaveLength(200);
  expect(result.structuredContent.items[199]).toEqual({
    id: 'item-199',
    call_id: 'call-199',
    call_started_at: '2026-01-01T00:00:00.299Z',
  });
  expect(result.content[0].text.split('\n').at(-1)).toBe('item-199\t2026-01-01T00:00:00.299Z\tcall-199');
  expect(parsed.mock.calls.filter(([text]) => text === pageJson)).toHaveLength(1);
  expect(written.mock.calls.filter(([value]) => stringify(value)?.includes('"id":"item-199"'))).toHaveLength(1);
  // The check reads every member, and then the rows are read; states are also remembered, and times made readable.
  const readsOfItem = (name: string): number => reads.get(name)! / items.length;
  expect(['created_by', 'call_id', 'annotation_state', 'call_started_at'].map(readsOfItem)).toEqual([2, 2, 3, 3]);
  expect(Math.max(...reads.values()) / items.length).toBe(3);
});
