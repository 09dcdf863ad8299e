import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { sendGoodResponse } from '../support/fake-service.ts';
import { startServingProcess } from '../support/serving-process.ts';
import { tally } from '../support/tally.ts';

const readCall = ['read_call', { call_id: 'c' }] as const;

// More ways to end are in the lane `connections`.
describe('a server process on stdio', () => {
  it('answers the pending tool call at the end of its input, then exits', async () => {
    const { server, call, nextRequest } = await startServingProcess();
    const arrived = nextRequest();
    call('last', ...readCall);
    const request = await arrived;
    const ended = server.end();
    sendGoodResponse(request);
    expect(await server.answerTo('last')).toHaveProperty('result');
    expect(await ended).toBe(0);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('answers the pending tool call after %s, then exits', async (signal) => {
    const { server, call, nextRequest } = await startServingProcess();
    const arrived = nextRequest();
    call('last', ...readCall);
    const request = await arrived;
    const ended = once(server.child, 'close');
    server.child.kill(signal);
    expect(await server.ask({ id: 'after the signal', method: 'ping' })).toHaveProperty('result');
    sendGoodResponse(request);
    expect(await server.answerTo('last')).toHaveProperty('result');
    expect((await ended)[0]).toBe(0);
  });

  it('logs an uncaught error as one line without secrets, and keeps running', async () => {
    const throwing = [
      "setTimeout(() => { throw new Error('lost: password-of-user\\nsecond line') }, 20);",
      "setTimeout(() => Promise.reject(new Error('forgotten: password-of-user')), 40);",
      "setTimeout(() => Promise.reject('no error: password-of-user'), 60);",
    ].join('');
    const { server, service } = await startServingProcess({
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => { ${throwing} })`)}`,
    });
    service.respond = (request) => sendGoodResponse(request);
    const logged = new Promise<void>((resolve) => {
      server.child.stderr!.on('data', () => {
        if (server.stderr.trim().split('\n').length >= 3) resolve();
      });
    });
    server.child.kill('SIGUSR2');
    await logged;
    const lines = server.stderr.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        level: 'error',
        message: 'uncaught',
        error: expect.stringContaining('lost: [secret]\nsecond'),
      }),
      expect.objectContaining({
        level: 'error',
        message: 'uncaught',
        error: expect.stringContaining('forgotten: [secret]'),
      }),
      expect.objectContaining({
        level: 'error',
        message: 'uncaught',
        error: expect.stringContaining('no error: [secret]'),
      }),
    ]);
    expect((await server.ask({ id: 'on', method: 'ping' })).result).toBeDefined();
    const { result } = await server.ask({
      id: 'work',
      method: 'tools/call',
      params: { name: 'read_call', arguments: { call_id: 'c' } },
    });
    expect(result).not.toHaveProperty('isError');
    expect(await server.end()).toBe(0);
    tally('faults', 4);
  });
});
