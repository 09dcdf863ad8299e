// Starts the embedded service on shared data and prints its address.
// Usage: `evaluation-worker.ts DATA MODEL_PROVIDER_URL LEASE_MS`. evaluation-kills.ts kills it at a random moment.
import { startService } from '../../src/service/start-service.ts';
import { account } from './test-account.ts';

const [data = '', url = '', leaseMs = ''] = process.argv.slice(2);
const service = await startService({
  data,
  account,
  modelProvider: { url },
  evaluation: { leaseMs: Number(leaseMs) },
  log: (level, message, ...fields) => {
    if (level === 'error') process.stderr.write(`${message} ${JSON.stringify(Object.assign({}, ...fields))}\n`);
  },
});
process.stdout.write(`${service.url}\n`);
