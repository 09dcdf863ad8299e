// Writes a mixed workload to the embedded service, and prints each write after the service has acknowledged it.
// Usage: `kill-worker.ts DATA_FILE NAME`. kill-rounds.ts kills it at a random moment.
import { openServiceStore, startService } from '../../src/service/index.ts';
import { account, basic } from './test-account.ts';

const [dataFile = '', name = ''] = process.argv.slice(2);
const service = await startService({ data: dataFile, account });

async function post(path: string, body: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers: { authorization: basic, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const responseBody = (await response.json()) as Record<string, unknown>;
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${JSON.stringify(responseBody)}`);
  return responseBody;
}

const print = (write: Record<string, unknown>): void => void process.stdout.write(`${JSON.stringify(write)}\n`);
const item = (index: number) => ({
  call_id: `${name}-${index}`,
  call_op_name: 'op',
  call_trace_id: 't',
  call_started_at: '2026-01-01T00:00:00Z',
});

const store = await openServiceStore(dataFile);
print({ what: 'ready' });
for (let index = 0; ; index += 1) {
  const description = `${name}-${index}`;
  const created = await post('/v2/p/q/evaluations', { name: 'shared', dataset: 'x:///d', description });
  print({ what: 'version', version_index: created.version_index, digest: created.digest });

  await store.importItems([JSON.stringify(item(index))], { projectId: 'p/q', queueId: 'work' });
  print({ what: 'item', call_id: `${name}-${index}` });

  const { items } = (await post('/annotation_queues/work/items/query', {
    project_id: 'p/q',
    filter: { call_id: `${name}-${index}` },
  })) as { items: { id: string }[] };
  const id = items[0]!.id;
  await post(`/annotation_queues/work/items/${id}/progress`, { project_id: 'p/q', annotation_state: 'completed' });
  print({ what: 'progress', id });

  const feedback = `00000000-0000-8000-a000-${Buffer.from(description.padEnd(6, '_').slice(-6)).toString('hex')}`;
  await post('/feedback/create', {
    project_id: 'p/q',
    weave_ref: `weave:///p/q/call/${name}-${index}`,
    feedback_type: 'good',
    payload: { value: index },
    id: feedback,
  });
  print({ what: 'feedback', id: feedback });
}
