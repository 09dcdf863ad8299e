// Time of every function that reads foreign text, by the size of adversarial text: linear functions grow as the size does.
import { tsImport } from 'tsx/esm/api';
import { median, shown, table } from './lib/statistics.mjs';

const sizes = [64 * 1024, 1024 * 1024, 4 * 1024 * 1024];
const secret = 'sk-"quoted"/\\and+plain-é-0123456789';

/** Units whose repetition has made patterns or loops quadratic, here or elsewhere. */
const units = [
  'x-',
  'a.',
  'eyJ-',
  'eyJ.',
  'eyJa.b-',
  'Bearer ',
  'Basic a1',
  'cookie',
  'authorization: ',
  'x-key',
  'A_',
  'TOKEN',
  'a://',
  'a:',
  '@',
  ' ',
  '\n',
  '\t,',
  '\\',
  '\\"',
  '"',
  '%',
  '%73',
  '&#',
  '{',
  '{a',
  '[1',
  '/op/x',
  'T1',
  '\u00ad',
  '😀',
  '*a_',
  '[a](b',
  '> - ',
  'a|\n-|\n',
  'sk-',
  'c2st',
  secret,
  secret.slice(0, -1),
];

const load = (path) => tsImport(`../src/${path}`, import.meta.url);

/** Functions of foreign text. Each gets the adversarial text. */
async function textFunctions() {
  const { Redactor } = await load('core/secrets/redaction.ts');
  const { cutValue, pathSegments } = await load('text/call-values.ts');
  const { cell, compactTable, escapeInvisible } = await load('text/compact-table.ts');
  const { parsePartReference } = await load('contract/references.ts');
  const { inferencePath, pathSegment, projectId } = await load('contract/identifiers.ts');
  const { failureOf, badResponse } = await load('client/failures.ts');
  const { retryAfterMs } = await load('core/http/retry-after.ts');
  const { readTraceContext } = await load('mcp/trace-context.ts');
  const { readResource } = await load('mcp/resources.ts');
  const { applyTemplateVariables } = await load('service/inference/template-variables.ts');
  const { normalizeTimestamp } = await load('core/timestamps.ts');
  const { nearest } = await load('text/names.ts');
  const { diffOf } = await load('client-setup/diff.ts');
  const { markdownView } = await load('board/view/values/markdown.ts');
  const { maxShownChars } = await load('board/view/values/text-view.ts');
  const { visibleText } = await load('board/view/shared/visible-text.ts');
  const redactor = new Redactor();
  redactor.protect(secret);
  const info = {
    operation: 'GET /x',
    endpoint: 'x',
    auth: 'basic',
    repeatable: true,
    redact: (text) => redactor.redact(text),
  };
  const response = (status, body) => ({ status, headers: {}, body });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const unlessThrown = (work) => {
    try {
      return work();
    } catch {
      return undefined;
    }
  };
  return {
    'Redactor.redact': (text) => redactor.redact(text),
    'Redactor.redactValue': (text) => redactor.redactValue({ text }),
    'Redactor.redactCut': (text) => redactor.redactCut(text),
    escapeInvisible,
    cell,
    compactTable: (text) => compactTable([{ text }, { text: `${text}.` }], []),
    cutValue: (text) => cutValue(text, 100),
    pathSegments,
    parsePartReference,
    'schemas of identifiers': (text) => [inferencePath, pathSegment, projectId].map((schema) => schema.safeParse(text)),
    'failureOf, plain text': (text) => failureOf(response(500, text), info),
    'failureOf, JSON': (text) => failureOf(response(404, JSON.stringify({ detail: text })), info),
    badResponse: (text) => badResponse(response(200, text), info, 'it is not JSON'),
    retryAfterMs: (text) => retryAfterMs(text, 0),
    readTraceContext: (text) => readTraceContext((name) => (name === 'traceparent' ? traceparent : text)),
    readResource: (text) => readResource(`heddle://${text}`, {}, new AbortController().signal).catch(() => {}),
    applyTemplateVariables: (text) => unlessThrown(() => applyTemplateVariables([{ content: text }], { a: 'b' })),
    nearest: (text) => nearest(text, [text, `${text}x`, 'queue'], (name) => [name]),
    diffOf: (text) => diffOf(text, `${text}\nx`),
    normalizeTimestamp: (text) => normalizeTimestamp(text),
    visibleText,
    'markdownView, of as much as a View shows': (text) => markdownView(text.slice(0, maxShownChars)),
  };
}

async function msOf(work, text) {
  const times = [];
  const rounds = text.length > sizes[0] ? 1 : 3;
  for (let round = 0; round < rounds; round += 1) {
    const startedAt = performance.now();
    await work(text);
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

/** Returns for each function the slowest unit, with its time for each size. */
export async function measureText(log) {
  const results = [];
  for (const [name, work] of Object.entries(await textFunctions())) {
    let slowest;
    for (const unit of units) {
      const times = [];
      for (const size of sizes) times.push(await msOf(work, unit.repeat(size / unit.length)));
      if (!slowest || times.at(-1) > slowest.times.at(-1)) slowest = { unit, times };
    }
    log(`${name}: ${JSON.stringify(slowest)}`);
    results.push({ name, ...slowest });
  }
  return results;
}

export function reportText(results) {
  const rows = results.map(({ name, unit, times: [small, middle, large] }) => [
    name,
    `\`${JSON.stringify(unit).replaceAll('|', '\\|')}\``,
    ...[small, middle, large].map((ms) => shown(ms)),
    shown(large / middle),
  ]);
  return `## Foreign text

Milliseconds for 64 KiB, 1 MiB and 4 MiB of the unit that was slowest of ${units.length}. Four times the text should take four times
as long; a quadratic function takes sixteen times as long.

${table(['function', 'slowest unit', '64 KiB', '1 MiB', '4 MiB', '4 MiB / 1 MiB'], rows)}`;
}
