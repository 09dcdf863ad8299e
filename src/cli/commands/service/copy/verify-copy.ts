import type { RecordedCall } from '../../../../contract/calls.ts';
import { canonicalJson } from '../../../../core/json/canonical-json.ts';
import { exactJson } from '../../../../core/json/exact-number.ts';
import { parseKeepingDigits } from '../../../../core/json/json-numbers.ts';
import { isJsonObject } from '../../../../core/json/json-object.ts';
import { normalizeTimestamp } from '../../../../core/timestamps.ts';
import type { ContentKind } from '../../../../service/start-service.ts';
import { type CopiedCall, copiedCall, endsAtTarget } from './copy-calls.ts';
import { feedbackAtTarget } from './copy-feedback.ts';
import type { ProjectCopy } from './project-copy.ts';

/** The findings of reading the target after a copy. */
export interface CopyCheck {
  /** Entries that are there, of each kind. */
  counted: Partial<Record<ContentKind, number>>;
  /** Entries that were read whole and compared, of each kind. */
  compared: Partial<Record<ContentKind, number>>;
  /** Entries that are missing, or differ from what was copied. */
  faults: { kind: ContentKind; fault: 'missing' | 'differs'; id: string }[];
}

/** Number of entries of a kind that are compared whole, spread over all of them. */
const samples = 100;
const maxFaults = 100;

/** Reads the target after a copy: counts what is there, and compares some of each kind as a whole. */
export async function verifyCopy(copy: ProjectCopy): Promise<CopyCheck> {
  const check: CopyCheck = { counted: {}, compared: {}, faults: [] };
  await checkFiles(copy, check);
  await checkTables(copy, check);
  await checkObjects(copy, check);
  await checkCalls(copy, check);
  await checkItems(copy, check);
  await checkFeedback(copy, check);
  check.faults = check.faults.filter(({ kind, id }) => !copy.tally.isLeft(kind, id)).slice(0, maxFaults);
  return check;
}

function add(counts: CopyCheck['counted'], kind: ContentKind, count = 1): void {
  counts[kind] = (counts[kind] ?? 0) + count;
}

function compare({ compared, faults }: CopyCheck, kind: ContentKind, id: string, isSame: boolean): void {
  add(compared, kind);
  if (!isSame) faults.push({ kind, fault: 'differs', id });
}

/** Returns a test that is true for as many entries as are compared, spread over all of a kind. */
function sampler({ tally }: ProjectCopy, kind: ContentKind): () => boolean {
  const step = Math.max(1, Math.ceil(tally.counts.get(kind)!.here / samples));
  let place = 0;
  return () => place++ % step === 0;
}

/** @param here a value with every number as it is stored; the client reads those of the target in its own way. */
const isSameJson = (here: unknown, there: unknown): boolean =>
  canonicalJson(parseKeepingDigits(exactJson(here))) === canonicalJson(there);

async function checkFiles(copy: ProjectCopy, check: CopyCheck): Promise<void> {
  const { reader, target, names, tally } = copy;
  const isSample = sampler(copy, 'files');
  for await (const digest of reader.files()) {
    if (!isSample() || tally.isLeft('files', digest)) continue;
    const here = await reader.file(digest);
    const there = await target.call('readFile', { body: { project_id: names.target_id, digest } });
    const bytes = async (file: Blob): Promise<Buffer> => Buffer.from(await file.arrayBuffer());
    compare(check, 'files', digest, (await bytes(here)).equals(await bytes(there)));
  }
}

async function checkTables(copy: ProjectCopy, check: CopyCheck): Promise<void> {
  const { reader, target, names } = copy;
  const isSample = sampler(copy, 'tables');
  for await (const { digest, row_count } of reader.tables()) {
    const there = names.digests.tables.get(digest);
    const body = { project_id: names.target_id, digest: there ?? digest };
    const { count } = await target.call('countTableRows', { body });
    if (there === undefined || count !== row_count) check.faults.push({ kind: 'tables', fault: 'missing', id: digest });
    else add(check.counted, 'tables');
    if (!isSample()) continue;
    for await (const rows of reader.rows(digest)) {
      const found = await target.call('queryTable', { body: { ...body, limit: rows.length } });
      const [here, vals] = [rows.map(({ val }) => names.value(val)), found.rows.map(({ val }) => val)];
      compare(check, 'tables', digest, isSameJson(here, vals));
      break;
    }
  }
}

async function checkObjects(copy: ProjectCopy, check: CopyCheck): Promise<void> {
  const { reader, target, names } = copy;
  const isSample = sampler(copy, 'objects');
  for (const version of await reader.versions()) {
    const { object_id, digest } = version;
    const there = names.digests.versions.get(`${object_id}:${digest}`);
    const label = `${object_id}:v${version.version_index}`;
    if (there === undefined) {
      check.faults.push({ kind: 'objects', fault: 'missing', id: label });
      continue;
    }
    add(check.counted, 'objects');
    if (!isSample()) continue;
    const body = { project_id: names.target_id, object_id, digest: there };
    const { obj } = await target.call('readObject', { body });
    compare(check, 'objects', label, isSameJson(names.value(await reader.version(version)), obj.val));
  }
}

async function checkCalls(copy: ProjectCopy, check: CopyCheck): Promise<void> {
  const { reader, target, names } = copy;
  const isSample = sampler(copy, 'calls');
  const note = (): void => {};
  for await (const batch of reader.calls()) {
    const calls = batch.map((call) => copiedCall(call, names, note));
    const known = await endsAtTarget(copy, calls);
    add(check.counted, 'calls', known.size);
    const sampled: CopiedCall[] = [];
    for (const call of calls) {
      if (!known.has(call.id)) check.faults.push({ kind: 'calls', fault: 'missing', id: call.id });
      else if (isSample()) sampled.push(call);
    }
    if (sampled.length === 0) continue;
    const filter = { call_ids: sampled.map(({ id }) => id) };
    const found = await target.call('queryCalls', { body: { project_id: names.target_id, filter } });
    const byId = new Map(found.map((call) => [call.id, call]));
    for (const call of sampled) {
      compare(check, 'calls', call.id, isSameJson(comparable(call), comparable(byId.get(call.id)!)));
    }
  }
}

/** Returns the members of a call that a service keeps as they were recorded. */
function comparable(call: RecordedCall | CopiedCall): unknown {
  const time = (text: string | null | undefined) => (text ? normalizeTimestamp(text) : null);
  // Members that services derive from the others are in `weave`.
  const { weave: _, ...summary } = isJsonObject(call.summary) ? call.summary : {};
  const { op_name, trace_id, parent_id = null, attributes, inputs, output = null, exception = null } = call;
  const times = { started_at: time(call.started_at), ended_at: time(call.ended_at) };
  return { op_name, trace_id, parent_id, ...times, attributes, inputs, output, exception, summary };
}

async function checkItems(copy: ProjectCopy, check: CopyCheck): Promise<void> {
  const { reader, target, names, tally } = copy;
  const queue_ids = [...names.queues.values()];
  for (const { id } of await reader.queues()) {
    if (!names.queues.has(id)) check.faults.push({ kind: 'queues', fault: 'missing', id });
  }
  add(check.counted, 'queues', queue_ids.length);
  if (queue_ids.length === 0) return;
  const { stats } = await target.call('queueStats', { body: { project_id: names.target_id, queue_ids } });
  const found = stats.reduce((sum, { total_items }) => sum + total_items, 0);
  add(check.counted, 'items', found);
  const { there, copied } = tally.counts.get('items')!;
  if (found < there + copied)
    check.faults.push({ kind: 'items', fault: 'missing', id: `${there + copied - found} of them` });
}

async function checkFeedback(copy: ProjectCopy, check: CopyCheck): Promise<void> {
  for await (const batch of copy.reader.feedback()) {
    const known = await feedbackAtTarget(copy, batch);
    for (const { id } of batch) {
      if (!known.has(id)) check.faults.push({ kind: 'feedback', fault: 'missing', id });
      else add(check.counted, 'feedback');
    }
  }
}
