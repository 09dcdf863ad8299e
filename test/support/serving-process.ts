import { onTestFinished } from 'vitest';
import { type FakeService, type RecordedRequest, startFakeService } from './fake-service.ts';
import { temporaryFolder } from './heddle.ts';
import { LineProcess } from './line-client.ts';

/** A server process on stdio, and the service that it uses. */
export interface ServingProcess {
  service: FakeService;
  server: LineProcess;
  /** Sends a tool call without waiting for its result. */
  call: (id: unknown, name: string, args: object) => void;
  /** Resolves to the next request that reaches the service, which does not respond to it. */
  nextRequest: () => Promise<RecordedRequest>;
}

/** Starts a server process for a fake service. Both end with the test. */
export async function startServingProcess(extra: Record<string, string> = {}): Promise<ServingProcess> {
  const service = await startFakeService();
  const server = new LineProcess(temporaryFolder(), { ...service.environment, ...extra });
  onTestFinished(() => void server.child.kill('SIGKILL'));
  await server.initialize();
  const call: ServingProcess['call'] = (id, name, args) =>
    server.write(
      `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })}\n`,
    );
  const nextRequest = () =>
    new Promise<RecordedRequest>((resolve) => {
      service.respond = resolve;
    });
  return { service, server, call, nextRequest };
}
