import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { startAttackedServer } from '../../support/attacked-server.ts';
import { sendResponse } from '../../support/fake-service.ts';
import { ask, startHttpProcess } from '../../support/http-server.ts';

const { service, server, isWell } = await startAttackedServer();

describe('stdio server', () => {
  it('refuses a batch of millions of values with one log line', async () => {
    const logged = server.stderr.length;
    server.write(`[${'1,'.repeat(4_000_000)}{"jsonrpc":"2.0","id":"last","method":"ping"}]\n`);
    expect((await server.answerTo('last')).error).toEqual({
      code: -32_600,
      message: 'Message refused: a batch of more than 1024 messages',
    });
    await isWell();
    expect(server.stderr.slice(logged).trimEnd().split('\n')).toHaveLength(1);
    expect(server.stderr.slice(logged)).toContain('"message":"batch refused","messages":4000001');
  });

  it('counts the log lines that it drops beyond the limit per second', async () => {
    const logged = server.stderr.length;
    server.write('5\n'.repeat(100_000));
    await isWell();
    const linesOf = (text: string): { message: string; count: number }[] =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    const isDropped = ({ message }: { message: string }) => message === 'log lines dropped';
    // A slow machine reads them in several seconds, each with a count of its own.
    const total = (): number => {
      const lines = linesOf(server.stderr.slice(logged));
      return lines.reduce((sum, line) => sum + (isDropped(line) ? line.count : 1), 0);
    };
    await expect.poll(total).toBe(100_000);
    const dropped = linesOf(server.stderr.slice(logged)).filter(isDropped);
    expect(dropped[0]).toMatchObject({ level: 'warn', limit_per_second: 2_000 });
  });

  it('refuses a line of 200 MB under its id in bounded memory', async () => {
    const before = server.memory();
    const block = Buffer.alloc(1024 * 1024, 'x');
    server.write('{"jsonrpc":"2.0","id":"huge","method":"tools/call","params":{"name":"');
    for (let sent = 0; sent < 200; sent += 1) {
      if (!server.child.stdin!.write(block)) await new Promise((resolve) => server.child.stdin!.once('drain', resolve));
    }
    server.write('"}}\n');
    expect((await server.answerTo('huge')).error).toMatchObject({
      code: -32_600,
      message: expect.stringContaining('more than the maximum of 10485760'),
    });
    await isWell();
    const { peak } = server.memory();
    console.log(`memory: ${before.peak} MB before, ${peak} MB at the peak of a line of 200 MB`);
    expect(peak - before.peak).toBeLessThan(120);
    expect(server.stderr).toMatch(
      /"message":"message refused","id":"huge","reason":"it has 2097\d+ bytes, more than the maximum of 10485760"/,
    );
  });

  it('refuses requests beyond the limit and answers the others', async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    service.respond = async (request) => {
      await released;
      sendResponse(request, 200, '{"call":null}');
    };
    const ids = Array.from({ length: 1_100 }, (_, index) => `many${index}`);
    for (const id of ids) {
      server.write(
        `{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":{"name":"read_call","arguments":{"call_id":"c"}}}\n`,
      );
    }
    expect((await server.answerTo('many1099')).error).toMatchObject({ code: -32_000 });
    release();
    const answers = await Promise.all(ids.slice(0, -1).map((id) => server.answerTo(id)));
    expect(answers.filter(({ result }) => result)).toHaveLength(1_024);
  });
});

describe('HTTP server', () => {
  it('refuses a body of 200 MB in bounded memory', async () => {
    const { url, child } = await startHttpProcess();
    const peakMb = (): number =>
      process.platform === 'linux'
        ? Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024)
        : 0;
    const list = { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } };
    expect((await ask(url, list)).body).toContain('read_call');
    const before = peakMb();
    const outcome = await ask(url, { body: ' '.repeat(200 * 1024 * 1024) }).catch(
      (error: NodeJS.ErrnoException) => error.code,
    );
    // A client that keeps sending may meet the closed connection before it reads the refusal.
    if (typeof outcome === 'object') expect(outcome.status).toBe(413);
    else expect(['ECONNRESET', 'EPIPE']).toContain(outcome);
    console.log(`memory: ${before} MB before, ${peakMb()} MB at the peak of a body of 200 MB`);
    expect(peakMb() - before).toBeLessThan(60);
    expect((await ask(url, list)).body).toContain('read_call');
  });
});
