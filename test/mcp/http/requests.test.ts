import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { type Answer, ask, jsonHeaders, newerRequest, olderRequest, startHttp } from '../../support/http-server.ts';
import { framings, sendLargeBody } from '../../support/large-body.ts';

const list = olderRequest('tools/list');
const refusal = (message: string, code = -32_000): string =>
  JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null });

/** Without any flag. */
const { url: plainUrl, output: plainOutput } = await startHttp();
const plainPort = Number(new URL(plainUrl).port);

describe('HTTP requests', () => {
  it('are refused with a status and a JSON-RPC error when they are malformed', async () => {
    const foreignHost = refusal('Forbidden: this Host is not allowed');
    const foreignOrigin = refusal('Forbidden: this Origin is not allowed');
    const cases: [object, object, number, string][] = [
      [{}, { host: 'evil.example' }, 403, foreignHost],
      [{}, { host: 'evil.example:3920' }, 403, foreignHost],
      [{}, { host: 'localhost.evil.example' }, 403, foreignHost],
      [{}, { host: 'evil.example@localhost' }, 403, foreignHost],
      [{}, { origin: 'https://evil.example' }, 403, foreignOrigin],
      [{}, { origin: 'http://localhost.evil.example' }, 403, foreignOrigin],
      [{}, { origin: 'null' }, 403, foreignOrigin],
      [{}, { origin: 'x://localhost' }, 403, foreignOrigin],
      [{}, { origin: 'chrome-extension://127.0.0.1' }, 403, foreignOrigin],
      [{ method: 'GET', body: undefined }, {}, 405, refusal('Method not allowed: send POST')],
      [{ method: 'DELETE', body: undefined }, {}, 405, refusal('Method not allowed: send POST')],
      [
        {},
        { 'content-type': 'text/plain' },
        415,
        refusal('Unsupported media type: Content-Type must be application/json'),
      ],
      [{}, { 'content-encoding': 'gzip' }, 415, refusal('Unsupported media type: the body must not be compressed')],
      [
        {},
        { accept: 'application/json' },
        406,
        refusal('Not acceptable: accept both application/json and text/event-stream'),
      ],
      [{ body: '{"jsonrpc":' }, {}, 400, refusal('Parse error: the body is not JSON', -32_700)],
      [{ body: '' }, {}, 400, refusal('Parse error: the body is not JSON', -32_700)],
    ];
    for (const [request, headers, status, body] of cases) {
      const answer = await ask(plainUrl, { ...list, ...request, headers: { ...jsonHeaders, ...headers } });
      expect(
        [answer.status, answer.body, answer.headers['content-type']],
        JSON.stringify({ request, headers }),
      ).toEqual([status, body, 'application/json']);
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
    }
    expect((await ask(plainUrl, { method: 'GET' })).headers.allow).toBe('POST');
    expect(await ask(new URL('/other', plainUrl), list)).toMatchObject({
      status: 404,
      body: refusal('Not found: the endpoint is /mcp'),
    });
    expect(plainOutput.stdout).toBe('');
  });

  it('may name loopback and allowed hosts with any port', async () => {
    const { url } = await startHttp(['--allowed-host', 'mcp.example.com:443', '--allowed-host', 'other.example']);
    for (const host of [
      'localhost',
      'LOCALHOST:1',
      '127.0.0.1:99',
      '[::1]:5',
      '[::1]',
      'mcp.example.com',
      'other.example:8',
    ]) {
      expect((await ask(url, { ...list, headers: { ...jsonHeaders, host } })).status, host).toBe(200);
    }
  });

  it('get CORS headers only for an allowed origin', async () => {
    const { url } = await startHttp(['--allowed-origin', 'https://app.example.com', '--allowed-origin', 'any.example']);
    for (const origin of [
      'https://app.example.com',
      'http://any.example:81',
      'http://localhost:6274',
      'http://[::1]:1',
    ]) {
      const answer = await ask(url, { ...list, headers: { ...jsonHeaders, origin } });
      expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, origin]);
    }
    const other = await ask(url, { ...list, headers: { ...jsonHeaders, origin: 'https://app.example.com:8443' } });
    expect(other.status).toBe(403);
    const preflight = await ask(url, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example.com',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,mcp-method',
      },
    });
    expect(preflight).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': 'https://app.example.com',
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': 'content-type,mcp-method',
      },
    });
  });

  it('must carry the configured token, except for health checks', async () => {
    const { url, output } = await startHttp([], { HEDDLE_HTTP_TOKEN: 'correct-horse-battery' });
    const without = await ask(url, list);
    expect(without).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer realm="heddle"' },
      body: refusal(
        'Unauthorized: the request has no bearer token; this server has no OAuth login, it takes one bearer token: set the header Authorization: Bearer TOKEN in the client, with the token of the server (its HEDDLE_HTTP_TOKEN or --token-file)',
      ),
    });
    for (const authorization of ['Bearer wrong', 'Bearer correct-horse-batter', 'Basic correct-horse-battery']) {
      expect((await ask(url, { ...list, headers: { ...jsonHeaders, authorization } })).status).toBe(401);
    }
    const wrong = await ask(url, { ...list, headers: { ...jsonHeaders, authorization: 'Bearer wrong' } });
    expect(wrong.headers['www-authenticate']).toBe(
      'Bearer realm="heddle", error="invalid_token", error_description="the token is wrong; this server has no OAuth login, it takes one bearer token: set the header Authorization: Bearer TOKEN in the client, with the token of the server (its HEDDLE_HTTP_TOKEN or --token-file)"',
    );
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what a client sends that does not replace it
    const literal = 'Bearer ${HEDDLE_HTTP_TOKEN}';
    const unset = await ask(url, {
      ...list,
      headers: { ...jsonHeaders, authorization: literal },
    });
    expect(unset.body).toContain(
      "Unauthorized: the client sent the name of a variable: set it to the server's token where the client is started",
    );
    for (const path of [
      '/register',
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-authorization-server',
    ]) {
      const message =
        'Not found: this server has no OAuth login, it takes one bearer token: set the header Authorization: Bearer TOKEN in the client, with the token of the server (its HEDDLE_HTTP_TOKEN or --token-file)';
      expect(await ask(new URL(path, url), list), path).toMatchObject({
        status: 404,
        body: JSON.stringify({ error: 'invalid_request', error_description: message }),
      });
    }
    for (const authorization of ['Bearer correct-horse-battery', 'bearer  correct-horse-battery']) {
      expect((await ask(url, { ...list, headers: { ...jsonHeaders, authorization } })).status).toBe(200);
    }
    expect(await ask(new URL('/healthz', url), { method: 'GET' })).toMatchObject({ status: 200, body: 'ok\n' });
    expect(await ask(new URL('/health', url), { method: 'GET' })).toMatchObject({
      status: 200,
      body: expect.stringMatching(/^\{"status":"ok","version":"\d[^"]*","build":"source"\}\n$/),
    });
    // The first one starts the embedded service, for which it does not wait long.
    const readiness = (): Promise<Answer> => ask(new URL('/readyz', url), { method: 'GET' });
    await expect.poll(readiness).toMatchObject({ status: 200, body: 'ready\n' });
    expect(output.stderr).not.toContain('correct-horse');
  });

  it('are not served when the token is set but empty', async () => {
    const environment = emptyHome(temporaryFolder(), { HEDDLE_HTTP_TOKEN: '' });
    const { code, stderr } = await run(['serve', '--http', '--port', '0'], environment);
    expect([code, stderr]).toEqual([
      2,
      'heddle: HEDDLE_HTTP_TOKEN is set, but empty.\nSet it to the token that clients must send, or unset it to serve every program on this machine.\n',
    ]);
  });

  it('are not served beyond loopback without a token', async () => {
    const folder = temporaryFolder();
    for (const host of ['0.0.0.0', '::', '0']) {
      const { code, stderr } = await run(['serve', '--http', '--port', '0', '--host', host], emptyHome(folder));
      expect(code).toBe(2);
      expect(stderr).toContain(
        `Listening on ${host} without a token would let everyone on the network use the service.`,
      );
    }
    const short = emptyHome(folder, { HEDDLE_HTTP_TOKEN: 'fifteen-letters' });
    expect(await run(['serve', '--http', '--port', '0', '--host', '0.0.0.0'], short)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('A token of 15 characters is too easy to guess for listening on 0.0.0.0.'),
    });
    const { url } = await startHttp(['--host', '0.0.0.0'], { HEDDLE_HTTP_TOKEN: 'correct-horse-battery' });
    const local = url.replace('0.0.0.0', '127.0.0.1');
    expect((await ask(local, list)).status).toBe(401);
    const headers = { ...jsonHeaders, authorization: 'Bearer correct-horse-battery' };
    expect((await ask(local, { ...list, headers })).status).toBe(200);
    expect((await ask(local, { ...list, headers: { ...headers, host: '0.0.0.0:80' } })).status).toBe(403);
  });

  it('are checked against a token file before the environment, if only its owner can read it', async () => {
    const file = join(temporaryFolder(), 'token');
    writeFileSync(file, 'from-the-file\n', { mode: 0o600 });
    const { url } = await startHttp(['--token-file', file], { HEDDLE_HTTP_TOKEN: 'from-the-environment' });
    const status = async (token: string): Promise<number> =>
      (await ask(url, { ...list, headers: { ...jsonHeaders, authorization: `Bearer ${token}` } })).status;
    expect([await status('from-the-file'), await status('from-the-environment')]).toEqual([200, 401]);

    const environment = emptyHome(temporaryFolder());
    const open = join(temporaryFolder(), 'open');
    writeFileSync(open, 'x', { mode: 0o644 });
    const empty = join(temporaryFolder(), 'empty');
    writeFileSync(empty, '\n', { mode: 0o600 });
    for (const [path, reason] of [
      [open, 'other users can read it'],
      [empty, 'must be one line of visible ASCII'],
      ['/nowhere', 'ENOENT'],
    ] as const) {
      const { code, stderr } = await run(['serve', '--http', '--port', '0', '--token-file', path], environment);
      expect(code).toBe(2);
      expect(stderr).toContain(`The token file ${path} cannot be used: ${reason}`);
    }
  });

  it('are refused for a foreign Host or Origin before the body is sent', async () => {
    for (const header of ['Host: evil.example', `Host: localhost\r\nOrigin: https://evil.example`]) {
      const socket = connect(plainPort, '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      socket.write(
        `POST /mcp HTTP/1.1\r\n${header}\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n`,
      );
      const [answer] = await once(socket.setEncoding('utf8'), 'data');
      expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
      await once(socket, 'close');
    }
  });

  it('get no 100 Continue for a body that would be refused', async () => {
    const socket = connect(plainPort, '127.0.0.1');
    socket.write('POST /mcp HTTP/1.1\r\nHost: evil.example\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n');
    const [answer] = await once(socket.setEncoding('utf8'), 'data');
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    await once(socket, 'close');
  });

  it.each(framings)('are cut off at the maximum body size: 100 MB, %s', async (_, framing) => {
    const { answer, sentMegabytes } = await sendLargeBody(plainUrl, framing);
    expect(answer).toMatch(/^HTTP\/1\.1 413 Payload Too Large\r\n/);
    expect(answer.toLowerCase()).toContain('connection: close');
    expect(answer).toContain(refusal('Payload too large: a request body may have 4194304 bytes'));
    // The buffers of both sockets take some megabytes more than the cap.
    expect(sentMegabytes).toBeLessThan(40);
    expect((await ask(plainUrl, list)).status).toBe(200);
  });

  it('get a JSON-RPC error and a closed connection when they are not HTTP', async () => {
    const socket = connect(plainPort, '127.0.0.1');
    socket.write('\x16\x03\x01 hello\r\n\r\n');
    const [answer] = await once(socket.setEncoding('utf8'), 'data');
    expect(answer).toContain(refusal('Bad request: not HTTP'));
    await once(socket, 'close');
  });

  it('are answered when they carry hostile JSON', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const bodies = [
      'null',
      '1',
      '"x"',
      '[]',
      '{}',
      deep,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_queues","arguments":${deep}}}`,
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","__proto__":{"x":1},"params":{"__proto__":{"y":1}}}',
      '{"jsonrpc":"2.0","id":1e400,"method":"tools/list"}',
    ];
    for (const body of bodies) {
      const { status, body: answer } = await ask(plainUrl, { body });
      expect([200, 400]).toContain(status);
      expect(answer).not.toContain('node_modules');
      expect(answer).not.toContain('    at ');
    }
    expect((await ask(plainUrl, newerRequest('tools/list'))).status).toBe(200);
  });

  it('cannot be served on a port in use: two lines and exit code 2', async () => {
    const port = String(plainPort);
    expect(await run(['serve', '--http', '--port', port], emptyHome(temporaryFolder()))).toEqual({
      code: 2,
      stdout: '',
      stderr: `heddle: Cannot listen on 127.0.0.1, port ${port} (EADDRINUSE).\nChoose another --port or --host, or stop the process that uses the port.\n`,
    });
  });

  it('cannot be served with invalid flags: exit code 2', async () => {
    const environment = emptyHome(temporaryFolder());
    for (const flags of [
      ['--port', '70000'],
      ['--port', 'x'],
      ['--allowed-origin', 'https://a.example/path'],
    ]) {
      expect((await run(['serve', '--http', ...flags], environment)).code, flags.join(' ')).toBe(2);
    }
    for (const flags of [
      ['--port', '4000'],
      ['--allowed-host', 'heddle.example'],
      ['--oauth-issuer', 'https://auth.example'],
    ]) {
      expect(await run(['serve', ...flags], environment)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`${flags[0]} has no effect without --http`),
      });
    }
  });
});

describe('a tool call of an older revision', () => {
  const call = (params: object) => olderRequest('tools/call', params);

  it.each([
    ['its result', { name: 'list_queues', arguments: {} }, { result: { structuredContent: { offset: 0 } } }],
    ['the error of the tool', { name: 'query_queue_items', arguments: {} }, { result: { isError: true } }],
    ['the refusal of an unknown tool', { name: 'no_tool' }, { error: { code: -32_602 } }],
  ])('is answered with one JSON body: %s', async (_, params, answer) => {
    const { status, headers, body } = await ask(plainUrl, call(params));
    expect([status, headers['content-type'], headers['content-length']]).toEqual([
      200,
      'application/json',
      String(Buffer.byteLength(body)),
    ]);
    expect(JSON.parse(body)).toMatchObject({ jsonrpc: '2.0', id: 1, ...answer });
  });

  it('is refused by name of the revision if heddle does not know it', async () => {
    const { headers, body } = call({ name: 'list_queues', arguments: {} });
    const answer = await ask(plainUrl, { headers: { ...headers, 'mcp-protocol-version': '2020-01-01' }, body });
    expect(answer.status).toBe(400);
    expect(answer.body).toContain('Unsupported protocol version');
  });
});
