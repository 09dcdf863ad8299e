// Creates the feedback shared-0, shared-1 …, and prints the responses: `feedback-worker.ts DATA COUNT`.
import { startService } from '../../src/service/index.ts';
import { account, basic } from './test-account.ts';

const [data = '', count = ''] = process.argv.slice(2);
const service = await startService({ data, account });
for (let index = 0; index < Number(count); index += 1) {
  const response = await fetch(`${service.url}/feedback/create`, {
    method: 'POST',
    headers: { authorization: basic },
    body: JSON.stringify({
      project_id: 'p/q',
      weave_ref: 'weave:///p/q/call/c1',
      feedback_type: 'note',
      payload: { index },
      id: `shared-${index}`,
    }),
  });
  process.stdout.write(`${await response.text()}\n`);
}
await service.close();
