import { PassThrough, Readable } from 'node:stream';
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../../src/core/json/canonical-json.ts';
import { connect } from '../../../src/mcp/connect.ts';
import { FrontDoor } from '../../../src/mcp/front-door.ts';
import { LineTransport } from '../../../src/mcp/line-transport.ts';
import { serverFactory } from '../../../src/mcp/server.ts';
import { openRuntime } from '../../../src/runtime/runtime.ts';
import { resolveSettings } from '../../../src/settings/resolve-settings.ts';
import { toolGroups } from '../../../src/tools/definition/tool.ts';
import { caseCount } from '../../support/cases.ts';
import { noFolders } from '../../support/heddle.ts';

interface Talk {
  /** Lines that were written before a server was there. */
  early: string[];
  /** All lines, with their members and themselves sorted. */
  all: string[];
  /** The log, sorted. */
  logged: string[];
}

type Line = string | Record<string, unknown>;

/** Sends lines to a server, which is there from the beginning, or only after the front door has seen all of them. */
async function talk(
  lines: Line[],
  serverIs: 'early' | 'late',
  environment: Record<string, string> = {},
): Promise<Talk> {
  const resolved = resolveSettings({ flags: {}, environment, folders: noFolders, profiles: {} });
  const logged: string[] = [];
  const { serverOptions, log, close } = openRuntime(resolved, {
    credentials: async () => ({ sources: resolved.sources }),
    log: (level, message, ...fields) => void logged.push(canonicalJson([level, message, ...fields])),
  });
  const output = new PassThrough();
  let written = '';
  output.on('data', (bytes) => {
    written += bytes;
  });
  const linesWritten = (): string[] => written.split('\n').slice(0, -1);
  const transport = new LineTransport(output, log);
  const door = new FrontDoor(transport, serverOptions);
  const connectServer = () => connect(serverFactory({ ...serverOptions, transport: 'stdio' }), door, log);
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify({ jsonrpc: '2.0', ...line })));
  const input = Readable.from([Buffer.from(`${texts.join('\n')}\n`)]);
  let disconnect = serverIs === 'early' ? connectServer() : undefined;
  await transport.read(input);
  const early = serverIs === 'late' ? linesWritten() : [];
  disconnect ??= connectServer();
  await transport.answered();
  await disconnect();
  await close();
  return {
    early,
    all: linesWritten()
      .map((line) => canonicalJson(JSON.parse(line)))
      .sort(),
    logged: logged.sort(),
  };
}

/** Returns the ids of the replies before a server was there, after it has checked that a server from the beginning replies alike. */
async function earlyReplies(lines: Line[], environment: Record<string, string> = {}): Promise<unknown[]> {
  const late = await talk(lines, 'late', environment);
  const early = await talk(lines, 'early', environment);
  expect(late.all).toEqual(early.all);
  expect(late.logged).toEqual(early.logged);
  return late.early.map((line) => JSON.parse(line).id);
}

const clientInfo = { name: 'test', version: '1.0.0' };
const initialize = (protocolVersion: string, more: Record<string, unknown> = {}) => ({
  id: 'first',
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo, ...more },
});
const initialized = { method: 'notifications/initialized' };
const key = (name: string): string => `io.modelcontextprotocol/${name}`;
const envelope = (more: Record<string, unknown> = {}) => ({
  [key('protocolVersion')]: '2026-07-28',
  [key('clientInfo')]: clientInfo,
  [key('clientCapabilities')]: {},
  ...more,
});
const later = [
  initialized,
  { id: 2, method: 'tools/list' },
  { id: 3, method: 'ping' },
  { id: 4, method: 'tools/list', params: { _meta: { progressToken: 7 } } },
];

describe('the front door', () => {
  it.each([...SUPPORTED_PROTOCOL_VERSIONS, '2099-01-01', ''])(
    'answers in revision "%s" as the server does',
    async (revision) => {
      expect(await earlyReplies([initialize(revision), ...later])).toEqual(['first', 2, 3, 4]);
    },
  );

  it('answers in revision 2026-07-28 as the server does', async () => {
    const lines = [
      { id: 1, method: 'server/discover', params: { _meta: envelope() } },
      { id: 2, method: 'tools/list', params: { _meta: envelope({ progressToken: 'a' }) } },
      { id: 3, method: 'server/discover', params: { _meta: envelope() } },
      { id: 4, method: 'tools/list', params: { _meta: envelope() } },
    ];
    expect(await earlyReplies(lines)).toEqual([1, 2, 3, 4]);
    expect(await earlyReplies([lines[0]!, initialize('2025-11-25'), ...later])).toEqual([1, 'first', 2, 3, 4]);
  });

  it.each<Record<string, string>>([
    {},
    { HEDDLE_PROJECT: 'team/support' },
    { HEDDLE_BASE_URL: 'https://service.example' },
    { HEDDLE_BASE_URL: 'https://service.example', HEDDLE_PROJECT: 'team/support' },
    { HEDDLE_BASE_URL: 'https://trace.wandb.ai', HEDDLE_TEXT: 'json', HEDDLE_MAX_RESULT_CHARS: '5000' },
    { HEDDLE_DATABASE_URL: 'postgres://db.example/heddle' },
    { HEDDLE_READ_ONLY: 'true' },
    ...toolGroups.flatMap((group): Record<string, string>[] => [
      { HEDDLE_TOOLS: group },
      { HEDDLE_TOOLS: group, HEDDLE_READ_ONLY: 'true', HEDDLE_PROJECT: 'team/support' },
    ]),
    { HEDDLE_TOOLS: 'read_call, list_queues' },
    { HEDDLE_TOOLS: 'create_queue', HEDDLE_READ_ONLY: 'true' },
  ])('answers with the settings %o as the server does', async (environment) => {
    expect(await earlyReplies([initialize('2025-11-25'), ...later], environment)).toEqual(['first', 2, 3, 4]);
    const discovery = ['server/discover', 'tools/list'].map((method, id) => ({
      id,
      method,
      params: { _meta: envelope() },
    }));
    expect(await earlyReplies(discovery, environment)).toEqual([0, 1]);
  });

  it.each([
    ['roots and elicitation', { roots: { listChanged: true }, elicitation: { form: {}, url: {} }, sampling: {} }],
    [
      'extensions',
      { extensions: { [key('ui')]: { mimeTypes: ['text/html;profile=mcp-app'] } }, experimental: { a: {} } },
    ],
    ['tasks', { tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} } } } }],
  ])('answers a client with %s at once', async (_, capabilities) => {
    const info = { ...clientInfo, title: 'Test', websiteUrl: 'https://client.example' };
    const opening = initialize('2025-06-18', { capabilities, clientInfo: info });
    expect(await earlyReplies([opening, ...later])).toEqual(['first', 2, 3, 4]);
  });

  it.each<[string, Line[], unknown[]]>([
    ['anything before an initialize', [{ id: 1, method: 'ping' }, initialize('2025-11-25')], []],
    ['a notification before an initialize', [initialized, initialize('2025-11-25')], []],
    [
      'another method',
      [initialize('2025-11-25'), initialized, { id: 2, method: 'prompts/list' }, { id: 3, method: 'ping' }],
      ['first'],
    ],
    ['an unknown method', [initialize('2025-11-25'), { id: 2, method: 'no/such' }], ['first']],
    ['a second initialize', [initialize('2025-11-25'), { ...initialize('2024-11-05'), id: 2 }], ['first']],
    [
      'a page of the list',
      [initialize('2025-11-25'), { id: 2, method: 'tools/list', params: { cursor: 5 } }],
      ['first'],
    ],
    [
      'an initialized twice',
      [initialize('2025-11-25'), initialized, initialized, { id: 2, method: 'ping' }],
      ['first'],
    ],
    ['a response', [initialize('2025-11-25'), { id: 2, result: {} }, { id: 3, method: 'ping' }], ['first']],
    ['an initialize without capabilities', [initialize('2025-11-25', { capabilities: undefined })], []],
    ['a client with an icon', [initialize('2025-11-25', { clientInfo: { ...clientInfo, icons: [{ src: 'a' }] } })], []],
    ['a capability of the wrong type', [initialize('2025-11-25', { capabilities: { roots: 5 } }), ...later], []],
    [
      'an envelope on an older connection',
      [initialize('2025-11-25'), { id: 2, method: 'tools/list', params: { _meta: envelope() } }],
      ['first'],
    ],
    [
      'a request without an envelope on a newer connection',
      [
        { id: 1, method: 'tools/list', params: { _meta: envelope() } },
        { id: 2, method: 'tools/list' },
        initialize('2025-11-25'),
      ],
      [1],
    ],
    [
      'an unknown revision in an envelope',
      [{ id: 1, method: 'tools/list', params: { _meta: envelope({ [key('protocolVersion')]: '2027-01-01' }) } }],
      [],
    ],
    [
      'a cancellation',
      [
        initialize('2025-11-25'),
        { method: 'notifications/cancelled', params: { requestId: 9 } },
        { id: 2, method: 'ping' },
      ],
      ['first'],
    ],
  ])('leaves to the server: %s', async (_, lines, answered) => {
    expect(await earlyReplies(lines)).toEqual(answered);
  });

  it('keeps apart the responses to requests that use one id after another', async () => {
    const lines = [
      { ...initialize('2025-11-25'), id: 1 },
      { id: 1, method: 'ping' },
      { id: 1, method: 'no/such' },
    ];
    const { early, all } = await talk([...lines, { id: 2, method: 'ping' }], 'late');
    expect(early.map((line) => JSON.parse(line).result)).toEqual([
      expect.objectContaining({ protocolVersion: '2025-11-25' }),
      {},
    ]);
    expect(all).toEqual([
      '{"error":{"code":-32601,"message":"Method not found"},"id":1,"jsonrpc":"2.0"}',
      expect.stringContaining('"protocolVersion":"2025-11-25"'),
      '{"id":1,"jsonrpc":"2.0","result":{}}',
      '{"id":2,"jsonrpc":"2.0","result":{}}',
    ]);
  });

  it('refuses what is no message, before a server is there and in the same words', async () => {
    const lines = [
      'not json',
      '',
      '{"jsonrpc":"1.0","id":1,"method":"ping"}',
      '{"jsonrpc":"2.0","id":2,"method":5}',
      '{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":12345678901234567890}}',
      '{"jsonrpc":"2.0","id":4.5,"method":"ping"}',
      `{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":"${'a'.repeat(11_000_000)}"}}`,
      initialize('2025-11-25'),
      JSON.stringify(Array.from({ length: 1_025 }, () => ({ jsonrpc: '2.0', id: 6, method: 'ping' }))),
      '[{"jsonrpc":"2.0","id":7,"method":"ping"},{"id":8},{"jsonrpc":"2.0","method":"notifications/initialized"}]',
    ];
    const early = await earlyReplies(lines);
    expect([...new Set(early)]).toEqual([1, 2, 3, 4.5, 5, 'first', 6, 7, 8]);
    expect(early).toHaveLength(8 + 1_025);
  });

  it('answers only what the server would answer alike, whatever a client sends', async () => {
    const odd = fc.constantFrom<unknown>(
      null,
      0,
      1.5,
      '',
      'a',
      true,
      [],
      {},
      { a: 1 },
      { form: {} },
      { listChanged: 'a' },
    );
    const capabilities = fc.oneof(
      odd,
      fc.record(
        Object.fromEntries(
          ['roots', 'sampling', 'elicitation', 'tasks', 'extensions', 'experimental', 'other'].map((name) => [
            name,
            fc.oneof(
              odd,
              fc.record({ listChanged: odd, form: odd, requests: odd, list: odd, context: odd }, { requiredKeys: [] }),
            ),
          ]),
        ),
        { requiredKeys: [] },
      ),
    );
    const info = fc.oneof(
      fc.constant(clientInfo),
      fc.record({ name: odd, version: odd, title: odd, icons: odd, websiteUrl: odd, other: odd }, { requiredKeys: [] }),
    );
    const revision = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom<unknown>('2025-11-25', '2026-07-28', '2024-10-07') },
      { weight: 1, arbitrary: odd },
    );
    const token = fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: odd });
    const opening = fc
      .record({ protocolVersion: revision, capabilities, clientInfo: info, progressToken: token })
      .map(({ progressToken, ...params }) => ({
        id: 1,
        method: 'initialize',
        params: { ...params, ...(progressToken !== undefined && { _meta: { progressToken } }) },
      }));
    const enveloped = fc
      .record({
        method: fc.constantFrom('server/discover', 'tools/list', 'ping', 'initialize'),
        revision,
        capabilities,
        info,
      })
      .map(({ method, revision, capabilities, info }) => ({
        id: 2,
        method,
        params: {
          _meta: {
            [key('protocolVersion')]: revision,
            [key('clientCapabilities')]: capabilities,
            [key('clientInfo')]: info,
          },
        },
      }));
    const plain = fc
      .record({ method: fc.constantFrom('tools/list', 'ping', 'prompts/list'), params: odd })
      .map((request) => ({ id: 3, ...request }));
    const conversation = fc.array(fc.oneof(opening, enveloped, plain), { minLength: 1, maxLength: 4 }).map((requests) =>
      // Each request has an id of its own, since a client that repeats one may get its responses in any order.
      requests.map((request, index) => ({ ...request, id: index })),
    );
    let answered = 0;
    let asked = 0;
    const compare = fc.asyncProperty(conversation, async (lines) => {
      answered += (await earlyReplies(lines)).length;
      asked += lines.length;
    });
    await fc.assert(compare, { numRuns: caseCount(1_000) });
    expect(answered).toBeGreaterThan(asked / 50);
    expect(answered).toBeLessThan(asked / 2);
  });
});
