// Works on a data file for the tests of several processes: `storage-worker.ts create|open|import DATA ARGUMENTS…`.
import { openServiceStore, startService } from '../../src/service/index.ts';
import { account, basic } from './test-account.ts';

const [task, data = '', first = '', count = ''] = process.argv.slice(2);
if (task === 'open') {
  const service = await startService({ data, account, sample: true });
  await service.close();
} else if (task === 'import') {
  const store = await openServiceStore(data);
  const lines = Array.from({ length: Number(count) }, (_, index) =>
    JSON.stringify({
      call_id: `${first}-${index}`,
      call_op_name: 'op',
      call_trace_id: 't',
      call_started_at: '2026-01-01T00:00:00Z',
    }),
  );
  await store.importItems(lines, { projectId: 'p/q', queueId: 'shared' });
  await store.close();
} else {
  const service = await startService({ data, account });
  for (let index = 0; index < Number(count); index += 1) {
    const response = await fetch(`${service.url}/v2/p/q/evaluations`, {
      method: 'POST',
      headers: { authorization: basic },
      body: JSON.stringify({ name: 'shared', dataset: 'x:///d', description: `${first}-${index}` }),
    });
    const body = (await response.json()) as { version_index: number; digest: string };
    if (response.status !== 200) throw new Error(`${response.status} ${JSON.stringify(body)}`);
    // Printed only after the service has acknowledged the write.
    process.stdout.write(`${body.version_index} ${body.digest}\n`);
  }
  await service.close();
}
