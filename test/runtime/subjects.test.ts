import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readOnlyTools, toolNames } from '../pins/tools.ts';
import { type FakeService, type RecordedRequest, sendResponse, startFakeService } from '../support/fake-service.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { ask, jsonHeaders, messagesOf, startHttp } from '../support/http-server.ts';
import { askAs, type Issuer, startIssuer } from '../support/issuer.ts';
import { type Setup, setUpProfiles } from '../support/profiles.ts';

const secretsOf = {
  ada: { username: 'ada', password: 'password-of-ada', token: 'token-of-ada' },
  bob: { username: 'bob', password: 'password-of-bob', token: 'token-of-bob' },
};
type Name = keyof typeof secretsOf;

/** Starts a service that names its owner in every response. */
async function serviceOf(name: Name): Promise<FakeService> {
  const service = await startFakeService({ credentials: secretsOf[name] });
  const { username, password, token } = secretsOf[name];
  const accepted = [`Bearer ${token}`, `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`];
  service.respond = (request) => {
    if (!accepted.includes(request.headers.authorization ?? '')) service.respondNormally(request);
    else if (request.path === '/inference/v1/models') {
      sendResponse(request, 200, { object: 'list', data: [{ id: `model-of-${name}` }] });
    } else if (request.path.endsWith('/query')) sendResponse(request, 200, { items: [], of: name });
    else service.respondNormally(request);
  };
  return service;
}

/** Starts an issuer and two services, and sets up a profile and a subject for each service. */
async function setUp(rest?: Name) {
  const [server, ada, bob] = await Promise.all([startIssuer(), serviceOf('ada'), serviceOf('bob')]);
  const setup = setUpProfiles(
    {
      ada: { ...secretsOf.ada, baseUrl: ada.url, project: 'team/ada' },
      bob: { ...secretsOf.bob, baseUrl: bob.url, project: 'team/bob' },
    },
    { 'subject-a': 'ada', 'subject-b': 'bob' },
    rest,
  );
  return { server, ada, bob, setup };
}

const start = (server: Issuer, { environment, subjectsFile }: Setup, args: string[] = []) =>
  startHttp(['--oauth-issuer', server.issuer, '--subjects', subjectsFile, ...args], environment);

const completion = { ref: { type: 'ref/prompt', name: 'triage_queue' }, argument: { name: 'model', value: '' } };
const query = { name: 'query_queue_items', arguments: { queue_id: 'q' } };

/** Returns the number of queries of queue items that a service has received. */
const queriesOf = ({ requests }: FakeService): number =>
  requests.filter(({ path }) => path.endsWith('/items/query')).length;

describe('serve --http --subjects', () => {
  it("uses the service, project and credentials of each subject's profile, and passes no access token on", async () => {
    const { server, ada, bob, setup } = await setUp();
    const { url, output } = await start(server, setup, ['--log-level', 'debug']);
    const [tokenA, tokenB] = await Promise.all(
      ['subject-a', 'subject-b'].map((sub) => server.token({ aud: url, sub })),
    );
    const tokens = [tokenA!, tokenB!];
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
    const asked = Array.from({ length: 12 }, (_, index) => index % 2);
    const answers = await Promise.all(
      asked.map(async (who) => {
        const token = tokens[who]!;
        const greeting = await askAs(url, token, 'initialize', initialize);
        const models = await askAs(url, token, 'completion/complete', completion);
        const call = await askAs(url, token, 'tools/call', query);
        const resource = await askAs(url, token, 'resources/read', { uri: 'heddle://team/x/queues/q' });
        return { who, text: [greeting, models, call, resource].map(({ body }) => body).join('\n') };
      }),
    );
    for (const { who, text } of answers) {
      const [service, other] = who === 0 ? [ada, bob] : [bob, ada];
      const [name, otherName] = who === 0 ? ['ada', 'bob'] : ['bob', 'ada'];
      expect(text).toContain(`evaluations of ${service.url}.`);
      expect(text).toContain(`by default team/${name}.`);
      expect(text).toContain(`model-of-${name}`);
      expect(text).not.toContain(other.url);
      expect(text).not.toContain(otherName);
    }
    for (const [service, name] of [
      [ada, 'ada'],
      [bob, 'bob'],
    ] as const) {
      const { username, password, token } = secretsOf[name];
      const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
      const authorizations = new Set(service.requests.map(({ headers }) => headers.authorization));
      expect(authorizations).toEqual(new Set([basic, `Bearer ${token}`]));
      expect(service.requestLines().join('\n')).not.toContain('eyJ');
    }
    for (const secret of [...tokens.map((token) => token.split('.')[1]!), 'password-of', 'token-of']) {
      expect(output.stderr).not.toContain(secret);
    }
  });

  it('offers the tools of the profile, and stays ready while the service of one profile is down', async () => {
    const { server, bob, setup } = await setUp();
    const file = join(setup.environment.XDG_CONFIG_HOME!, 'heddle', 'config.json');
    const config = JSON.parse(readFileSync(file, 'utf8'));
    config.profiles.bob.read_only = true;
    config.profiles.ada.base_url = 'http://127.0.0.1:9';
    writeFileSync(file, JSON.stringify(config));
    const { url } = await start(server, setup);
    const toolsOf = async (sub: string): Promise<string[]> => {
      const { body } = await askAs(url, await server.token({ aud: url, sub }));
      return messagesOf(body)[0].result.tools.map(({ name }: { name: string }) => name);
    };
    expect(await toolsOf('subject-a')).toEqual(toolNames);
    expect(await toolsOf('subject-b')).toEqual(readOnlyTools);
    expect(await toolsOf('subject-a')).toEqual(toolNames);
    expect((await ask(new URL('/readyz', url), { method: 'GET' })).status).toBe(200);
    const call = await askAs(url, await server.token({ aud: url, sub: 'subject-b' }), 'tools/call', query);
    expect(call.body).not.toContain('isError');
    expect(queriesOf(bob)).toBe(1);
  });

  it('rejects a subject without a profile, and follows changes of the file', async () => {
    const { server, ada, bob, setup } = await setUp();
    const { url, output } = await start(server, setup);
    const ask = async (sub: string) => askAs(url, await server.token({ aud: url, sub }), 'tools/call', query);
    const unknown = await ask('mia "the\u202e new"');
    expect(unknown).toMatchObject({
      status: 403,
      body: expect.stringContaining('no profile for the subject'),
    });
    expect(JSON.parse(unknown.body).error.message).toBe(
      'Forbidden: no profile for the subject "mia \\"the\\u202e new\\""; ask the operator of this server to add it',
    );
    expect(unknown.headers).not.toHaveProperty('www-authenticate');
    for (const name of ['__proto__', 'constructor', 'Subject-a', 'subject-a '])
      expect((await ask(name)).status).toBe(403);
    expect([ada.requests, bob.requests]).toEqual([[], []]);

    setup.assign({ 'subject-b': 'ada' }, 'bob');
    expect((await ask('subject-b')).status).toBe(200);
    expect([ada, bob].map(queriesOf)).toEqual([1, 0]);
    expect((await ask('mia')).status).toBe(200);
    expect([ada, bob].map(queriesOf)).toEqual([1, 1]);

    for (const broken of [
      '{',
      '{"subjects":{"mia":"nobody"}}',
      '{"subjects":[]}',
      '{"subjects":{},"defaults":"ada"}',
    ]) {
      writeFileSync(setup.subjectsFile, broken);
      expect((await ask('subject-b')).status).toBe(200);
    }
    expect(queriesOf(ada)).toBe(5);
    expect(output.stderr.match(/the subjects stay as they were/g)).toHaveLength(4);
    setup.assign({ 'subject-a': 'ada' });
    expect((await ask('subject-b')).status).toBe(403);
  });

  it.each([
    [[], 'HEDDLE_PASSWORD', 'of-the-operator'],
    [[], 'HEDDLE_TOKEN', 'of-the-operator'],
    [[], 'HEDDLE_BASE_URL', 'https://service.example.com'],
    [[], 'HEDDLE_INFERENCE_URL', 'https://llm.example.com/v1'],
    [[], 'HEDDLE_PROFILE', 'ada'],
    [['--profile', 'ada'], '--profile', ''],
  ])('rejects flags and variables that compete with the profiles: %j %s', async (flags, name, value) => {
    const setup = setUpProfiles({ ada: { ...secretsOf.ada, baseUrl: 'https://a.example', project: 'a/b' } }, {}, 'ada');
    const { code, stderr } = await run(
      ['serve', '--http', '--oauth-issuer', 'https://auth.example', '--subjects', setup.subjectsFile, ...flags],
      { ...setup.environment, [name]: value },
    );
    expect([code, stderr]).toEqual([
      2,
      `heddle: ${name} is set, but with --subjects each subject uses only the service and credentials of its profile.\nRemove ${name}, and put it into the profiles: \`node dist/heddle.js login --profile NAME\`.\n`,
    ]);
  });

  it("ignores other programs' variables in the environment", async () => {
    const [server, ada] = await Promise.all([startIssuer(), serviceOf('ada')]);
    const setup = setUpProfiles({}, {}, 'weave');
    const home = setup.environment.HOME!;
    const profiles = { weave: { base_url: ada.url, project: 'a/b', weave: true, store: 'file' } };
    writeFileSync(join(home, 'heddle', 'config.json'), JSON.stringify({ profiles }));
    const foreign = { WANDB_API_KEY: 'of-the-operator', WF_TRACE_SERVER_URL: 'http://127.0.0.1:9' };
    const { url } = await start(server, { ...setup, environment: { ...setup.environment, ...foreign } });
    const token = await server.token({ aud: url });
    const login = 'Ask the operator of this server to run `heddle login --profile weave`, and then call again.';
    const { body } = await askAs(url, token, 'tools/call', query);
    expect(body).toContain(`The credentials of profile \\"weave\\" are no longer in the credentials file.\\n${login}`);
    const secrets = { weave: { [ada.url]: { token: 'token-of-ada' } } };
    writeFileSync(join(home, 'heddle', 'credentials.json'), JSON.stringify(secrets), { mode: 0o600 });
    const second = await askAs(url, token, 'tools/call', query);
    expect(second.body).toContain(
      `Profile \\"weave\\" has no stored credentials of this kind for ${ada.url}: nothing was sent.\\n${login}`,
    );
    expect(ada.requests).toEqual([]);
  });

  it.each([
    [['--subjects', 'x.json'], {}, '--subjects is set, but there is no token issuer.'],
    [[], { HEDDLE_OAUTH_AUDIENCE: 'x' }, 'HEDDLE_OAUTH_AUDIENCE is set, but there is no token issuer.'],
    [
      ['--oauth-issuer', 'https://auth.example'],
      { HEDDLE_HTTP_TOKEN: 'static-token' },
      'HEDDLE_HTTP_TOKEN and --oauth-issuer are both set, but only one can decide who has access.',
    ],
    [
      ['--oauth-issuer', 'https://auth.example', '--host', '0.0.0.0'],
      {},
      'Listening on 0.0.0.0 with --oauth-issuer requires the public URL, which tokens must name.',
    ],
    [['--oauth-issuer', 'http://auth.example'], {}, 'must be an https URL, or http on this machine.'],
    [['--public-url', 'mcp.example.com'], {}, 'must be an http or https URL.'],
  ])('rejects contradictory or invalid settings: %j %j', async (flags, extra, says) => {
    const args = ['serve', '--http', '--port', '0', ...flags];
    const { code, stdout, stderr } = await run(args, emptyHome(temporaryFolder(), extra));
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(says)]);
    expect(stderr).not.toMatch(/^ {4}at |static-token/m);
  });

  it.each([
    ['{"subjects":{"a":"nobody"}}', 'There is no profile "nobody".'],
    ['{"subjects":{"a":"here"}}', 'Profile "here" names no service.'],
    ['{"subjects":{"a":1}}', 'expected string'],
    ['{"subjects":', 'JSON'],
    ['{"subjects":{"ada":"here","bob":"here","ada":"there"}}', 'it has "ada" twice'],
    ['{"subjects":{"mia":"here"},"subjects":{"mia":"here"}}', 'it has "subjects" twice'],
    ['{"default":"here","subjects":{},"\\u0064efault":"here"}', 'it has "default" twice'],
    ['{"subjects":{"__proto__":"here","mia":"here"}}', 'it has a member "__proto__"'],
    ['{"subjects":{"":"here"}}', 'Invalid key in record'],
  ])('rejects an unusable subjects file: %s', async (text, says) => {
    const setup = setUpProfiles({}, {});
    writeFileSync(setup.subjectsFile, text);
    writeFileSync(join(setup.environment.HOME!, 'heddle', 'config.json'), '{"profiles":{"here":{}}}');
    const args = ['serve', '--http', '--oauth-issuer', 'https://auth.example', '--subjects', setup.subjectsFile];
    const { code, stderr } = await run(args, setup.environment);
    expect([code, stderr]).toEqual([2, expect.stringContaining(says)]);
    expect(stderr).toContain(`The subjects file ${setup.subjectsFile} cannot be used: `);
  });

  it('may listen beyond loopback with an issuer, and allows the host of the public URL', async () => {
    const server = await startIssuer();
    const publicUrl = 'https://mcp.example.com/mcp';
    const args = ['--host', '0.0.0.0', '--oauth-issuer', server.issuer, '--public-url', publicUrl];
    const { url } = await startHttp(args);
    const authorization = `Bearer ${await server.token({ aud: publicUrl })}`;
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const from = (host: string) =>
      ask(url.replace('0.0.0.0', '127.0.0.1'), { headers: { ...jsonHeaders, authorization, host }, body });
    expect((await from('mcp.example.com')).status).toBe(200);
    expect((await from('other.example.com')).status).toBe(403);
  });

  it('lets only the same subject cancel a call', async () => {
    const { server, ada, setup } = await setUp();
    const arrived = new Promise<RecordedRequest>((resolve) => {
      ada.respond = resolve;
    });
    const { url } = await start(server, setup);
    const send = async (sub: string, body: object) =>
      ask(url, {
        headers: {
          ...jsonHeaders,
          authorization: `Bearer ${await server.token({ aud: url, sub })}`,
          'mcp-session-id': 'known-to-both',
        },
        body: { jsonrpc: '2.0', ...body },
      });
    const call = send('subject-a', { id: 7, method: 'tools/call', params: query });
    const { socket } = await arrived;
    const closed = once(socket, 'close');
    const cancel = { method: 'notifications/cancelled', params: { requestId: 7 } };
    expect((await send('subject-b', cancel)).status).toBe(202);
    expect((await send('subject-b', { id: 8, method: 'ping' })).status).toBe(200);
    expect(socket.destroyed).toBe(false);
    expect((await send('subject-a', cancel)).status).toBe(202);
    await closed;
    expect(await call).toMatchObject({ status: 200, body: '' });
  });
});
