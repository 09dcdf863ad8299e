import { describe, expect, it, onTestFinished } from 'vitest';
import { beginStream, chunked, startFakeService } from '../support/fake-service.ts';
import { startToolServer } from '../support/tool-server.ts';

const chunk = (delta: object, finish_reason: string | null = null) =>
  chunked(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
const request = { model: 'm', stream: true };

async function start(extra: Record<string, string> = {}) {
  const service = await startFakeService();
  const server = await startToolServer(service.url, extra);
  onTestFinished(() => server.client.close());
  return { service, server };
}

describe('a streamed run_inference', () => {
  it('reports growing progress at most every 250 ms, also for reasoning and tool calls', async () => {
    const { service, server } = await start();
    const pieces = 60;
    service.respond = async (asked) => {
      if (asked.method === 'GET') return service.respondNormally(asked);
      beginStream(asked);
      for (let piece = 0; piece < pieces; piece += 1) {
        const call = { index: 0, id: 'c', function: { name: 'f', arguments: '1' } };
        asked.socket.write(chunk(piece < 30 ? { reasoning_content: 'ab' } : { tool_calls: [call] }));
        await new Promise((resolve) => setTimeout(resolve, 15));
      }
      asked.socket.write(Buffer.concat([chunk({}, 'tool_calls'), chunked('data: [DONE]\n\n'), chunked('')]));
    };
    const reported: number[] = [];
    const started = performance.now();
    const result = await server.client.callTool(
      { name: 'run_inference', arguments: request },
      { onprogress: ({ progress }) => reported.push(progress) },
    );
    const tool_calls = [{ id: 'c', function: { name: 'f', arguments: '1'.repeat(30) } }];
    expect(result.structuredContent).toMatchObject({
      response: { choices: [{ finish_reason: 'tool_calls', message: { tool_calls } }] },
    });
    expect(reported.length).toBeGreaterThan(1);
    expect(reported.length).toBeLessThanOrEqual(1 + (performance.now() - started) / 250);
    expect(reported).toEqual([...new Set(reported)].sort((a, b) => a - b));
  });

  it('returns the text so far, cut to the size of a result, when the stream breaks', async () => {
    const { service, server } = await start({ HEDDLE_MAX_RESULT_CHARS: '4000' });
    service.respond = (asked) => {
      if (asked.method === 'GET') return service.respondNormally(asked);
      beginStream(asked);
      asked.socket.write(chunk({ content: 'x'.repeat(100_000) }));
      asked.socket.end();
    };
    const { code, partial_text } = await server.call('run_inference', request);
    expect(code).toBe('network');
    expect(partial_text).toMatch(/^x{2000}…\[\+98000 characters\]$/);
    expect(service.requests.map(({ method }) => method)).toEqual(['POST']);
  });

  it('returns the text so far when the deadline ends the stream', async () => {
    const { service, server } = await start({ HEDDLE_TIMEOUT_MS: '500', HEDDLE_INFERENCE_TIMEOUT_MS: '500' });
    service.respond = (asked) => {
      if (asked.method === 'GET') return service.respondNormally(asked);
      beginStream(asked);
      asked.socket.write(chunk({ content: 'Hel' }));
    };
    expect(await server.call('run_inference', request)).toMatchObject({ code: 'timeout', partial_text: 'Hel' });
  });
});
