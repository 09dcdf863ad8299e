import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { basic, startTestService } from '../support/embedded-service.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { onEnd } from '../support/on-end.ts';
import { account } from '../support/test-account.ts';

const project = 'team/sdk';

/** Starts a service that, as the public one, lists no runs that SDKs recorded. */
async function startWithoutListedRuns(url: string): Promise<string> {
  const server = createServer(async (request, response) => {
    if (request.method === 'GET' && request.url!.includes('/evaluation_runs?')) {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end();
      return;
    }
    const body = await buffer(request);
    const headers = { authorization: request.headers.authorization!, 'content-type': 'application/json' };
    const init = { method: request.method!, headers, ...(body.length > 0 && { body }) };
    const answer = await fetch(url + request.url, init);
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type')! });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('read_evaluation finds the runs that an SDK recorded, by the evaluation and by their ids', async () => {
  const service = await startTestService();
  const definition = { name: 'quality', dataset: `weave:///${project}/object/d:${'d'.repeat(43)}` };
  const { evaluation_ref } = (await service.send('POST', `/v2/${project}/evaluations`, basic, definition)).body;
  const run = (id: string, hour: string, evaluation: string) => ({
    project_id: project,
    id,
    trace_id: id,
    op_name: `weave:///${project}/op/Evaluation.evaluate:${'e'.repeat(43)}`,
    started_at: `2026-01-01T0${hour}:00:00Z`,
    ended_at: `2026-01-01T0${hour}:00:01Z`,
    attributes: {},
    inputs: { self: evaluation, model: `weave:///${project}/object/m:${'f'.repeat(43)}` },
    output: {},
    summary: {},
  });
  const batch = [run('run-1', '1', evaluation_ref), run('run-2', '2', evaluation_ref), run('other', '3', 'another')];
  const recorded = await service.send('POST', `/v2/${project}/calls/complete`, basic, { batch });
  expect(recorded.status).toBe(200);
  const { call } = await connectClient(
    emptyHome(temporaryFolder(), {
      HEDDLE_BASE_URL: await startWithoutListedRuns(service.running.url),
      HEDDLE_PROJECT: project,
      HEDDLE_USERNAME: account.name,
      HEDDLE_PASSWORD: account.password,
    }),
  );
  const byName = await call('read_evaluation', { evaluation: 'quality' });
  expect(byName).toMatchObject({
    total: 2,
    runs: [
      { run_id: 'run-2', status: 'complete', evaluation: 'quality', model: 'm' },
      { run_id: 'run-1', status: 'complete' },
    ],
  });
  const byId = await call('read_evaluation', { run_ids: ['run-1'] });
  expect(byId).toMatchObject({ runs: [{ run_id: 'run-1', status: 'complete' }] });
});
