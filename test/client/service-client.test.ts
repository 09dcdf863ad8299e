import { describe, expect, it, onTestFinished } from 'vitest';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { type Client, createClient } from '../../src/library.ts';
import { startTestService, type TestService } from '../support/embedded-service.ts';
import { type FakeService, sendResponse, startFakeService } from '../support/fake-service.ts';
import { account } from '../support/test-account.ts';

const project_id = 'acme/support';
const project = { entity: 'acme', project: 'support' };

async function startFake(): Promise<{ service: FakeService; client: Client }> {
  const service = await startFakeService();
  return { service, client: clientOf(service.url, { username: 'u', password: 'p', token: 't' }) };
}

async function startEmbedded(): Promise<{ service: TestService; client: Client }> {
  const service = await startTestService();
  return { service, client: clientOf(service.running.url, { ...account, username: account.name }) };
}

function clientOf(baseUrl: string, credentials: { username: string; password: string; token: string }): Client {
  const client = createClient({ baseUrl, ...credentials });
  onTestFinished(() => client.close());
  return client;
}

describe('ServiceClient.call', () => {
  it.each(Object.keys(endpoints) as EndpointName[])('sends %s and returns the value of its response', async (name) => {
    const { service, client } = await startFake();
    const { method, form, lines }: Endpoint = endpoints[name];
    const of = { object_id: 'o', digest: 'd', queue_id: 'q', item_id: 'i' };
    const path = { ...project, ...of, evaluation_run_id: 'r', prediction_id: 'p', score_id: 's' };
    const parts = { path: { ...path, path: '/m' }, ...(form && { body: { project_id, file: new Blob(['x']) } }) };
    const result = await client.call(name, parts as never);
    expect(Array.isArray(result)).toBe(lines === true);
    expect(service.requests.map((request) => request.method)).toEqual([method]);
  });

  it('puts the values for the path, the query and the body in their places', async () => {
    const { service, client } = await startFake();
    await client.call('readQueue', { path: { queue_id: 'q 1' }, query: { project_id } }).catch(() => undefined);
    await client.call('readQueue', { path: { queue_id: 'é' }, query: { project_id } });
    await client.call('listEvaluationRuns', { path: project, query: { evaluation_run_ids: ['a', 'b'], limit: 2 } });
    await client.call('queueStats', { body: { project_id, queue_ids: [] } });
    expect(service.requests.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['GET', '/annotation_queues/%C3%A9?project_id=acme%2Fsupport', ''],
      ['GET', '/v2/acme/support/evaluation_runs?evaluation_run_ids=a&evaluation_run_ids=b&limit=2', ''],
      ['POST', '/annotation_queues/stats', '{"project_id":"acme/support","queue_ids":[]}'],
    ]);
  });

  it('stores a file and reads it again', async () => {
    const { client } = await startEmbedded();
    const bytes = new Uint8Array([0, 255, 13, 10, 128]);
    const { digest } = await client.call('createFile', { body: { project_id, file: new Blob([bytes]) } });
    const file = await client.call('readFile', { body: { project_id, digest } });
    expect(new Uint8Array(await file.arrayBuffer())).toEqual(bytes);
  });

  it('sends feedback and starts of calls again after a failure only if each has an id', async () => {
    const feedback = { project_id, weave_ref: 'weave:///acme/support/call/c', feedback_type: 't', payload: {} };
    const start = { project_id, op_name: 'op', started_at: '2026-01-01T00:00:00Z', attributes: {}, inputs: {} };
    const requestsOf = async (send: (client: Client) => Promise<unknown>): Promise<number> => {
      const { service, client } = await startFake();
      service.respond = (request) => sendResponse(request, 500, {});
      await expect(send(client)).rejects.toMatchObject({ code: 'service_unavailable' });
      return service.requests.length;
    };
    const sent = [{}, { id: 'f' }].flatMap((id) => {
      const batch = [{ mode: 'start' as const, req: { start: { ...start, ...id } } }];
      return [
        requestsOf((client) => client.call('createFeedback', { body: { ...feedback, ...id } })),
        requestsOf((client) => client.call('createFeedbackBatch', { body: { batch: [{ ...feedback, ...id }] } })),
        requestsOf((client) => client.call('recordCalls', { body: { batch } })),
      ];
    });
    expect(await Promise.all(sent)).toEqual([1, 1, 1, 3, 3, 3]);
  });
});
