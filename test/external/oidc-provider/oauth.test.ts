import { createHmac, createPublicKey, type JsonWebKey } from 'node:crypto';
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { OAuthClientProvider as OlderProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toolNames } from '../../pins/tools.ts';
import { type AnyClient, callEveryTool, exampleFor } from '../../support/call-every-tool.ts';
import { ask, jsonHeaders, olderRequest, startHttp } from '../../support/http-server.ts';
import { OAuthUser } from '../../support/oauth-user.ts';
import { type Account, setUpProfiles } from '../../support/profiles.ts';
import { startServiceWithAccount } from '../../support/service-process.ts';
import { hasAuthorizationServer, startAuthorizationServer } from '../../support/start-authorization-server.ts';
import { proxyTo } from '../../support/tcp-proxy.ts';

const eras = [
  ['2026-07-28', { pin: '2026-07-28' }],
  ['older', 'legacy'],
] as const;
type Era = (typeof eras)[number][1];

function newClient(mode: Era): Client {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  return client;
}

async function connected(url: string, token: string, mode: Era): Promise<Client> {
  const client = newClient(mode);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

/** Connects a client whose user signs in. */
async function signedIn(url: string, person: OAuthUser, mode: Era) {
  const transport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: person });
  const first = transport();
  await expect(newClient(mode).connect(first)).rejects.toThrow(/Unauthorized/);
  await person.signIn(first);
  const client = newClient(mode);
  const second = transport();
  await client.connect(second);
  return { client, transport: second };
}

describe.skipIf(!hasAuthorizationServer)('heddle serve --http --oauth-issuer', () => {
  it.each(eras)(
    'lets a user sign in with a client of the SDK, and again when a tool needs a wider scope (%s)',
    async (_, mode) => {
      const { issuer } = await startAuthorizationServer();
      const { url } = await startHttp(['--oauth-issuer', issuer]);
      const mia = new OAuthUser('mia', { client_id: 'desktop', issuer });
      const { client, transport } = await signedIn(url, mia, mode);
      expect((await client.callTool({ name: 'list_queues', arguments: {} })).isError).toBeFalsy();
      expect(mia.tokens()?.scope).toBe('heddle:read');

      const write = { name: 'run_inference', arguments: exampleFor('run_inference') };
      await expect(client.callTool(write)).rejects.toThrow(/Unauthorized/);
      await mia.signIn(transport);
      expect((await client.callTool(write)).isError).toBeFalsy();
      expect(mia.tokens()?.scope).toBe('heddle:read heddle:write');

      const asked = mia.visited.map(({ searchParams }) => [searchParams.get('scope'), searchParams.get('resource')]);
      expect(asked).toEqual([
        ['heddle:read', url],
        ['heddle:read heddle:write', url],
      ]);
      expect(await callEveryTool(client as AnyClient)).toEqual(toolNames);
    },
  );

  it('lets an unknown client register itself', async () => {
    const { issuer } = await startAuthorizationServer();
    const { url } = await startHttp(['--oauth-issuer', issuer]);
    const mia = new OAuthUser('mia');
    const { client } = await signedIn(url, mia, 'legacy');
    expect((await client.listTools()).tools).toHaveLength(toolNames.length);
    expect(mia.clientInformation()?.client_id).toMatch(/^[\w-]{43}$/);
  });

  it('accepts client credentials', async () => {
    const { issuer } = await startAuthorizationServer();
    const { url } = await startHttp(['--oauth-issuer', issuer]);
    const authProvider = new ClientCredentialsProvider({
      clientId: 'machine-a',
      clientSecret: 'machine-a-secret',
      scope: 'heddle:read heddle:write',
      expectedIssuer: issuer,
    });
    const client = newClient('legacy');
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }));
    expect((await client.listTools()).tools).toHaveLength(toolNames.length);
  });

  it('accepts a client of version 1 of the SDK', async () => {
    const { issuer } = await startAuthorizationServer();
    const { url } = await startHttp(['--oauth-issuer', issuer]);
    const mia = new OAuthUser('mia');
    const transport = () => new OlderTransport(new URL(url), { authProvider: mia as OlderProvider });
    const first = transport();
    await expect(new OlderClient({ name: 'test', version: '1.0.0' }).connect(first)).rejects.toThrow(/Unauthorized/);
    await first.finishAuth((await mia.browse()).get('code')!);
    const client = new OlderClient({ name: 'test', version: '1.0.0' });
    onTestFinished(() => client.close());
    await client.connect(transport());
    expect((await client.callTool({ name: 'list_queues', arguments: {} })).isError).toBeFalsy();
  });

  const list = (url: string, token: string) =>
    ask(url, { ...olderRequest('tools/list'), headers: { ...jsonHeaders, authorization: `Bearer ${token}` } });

  it('rejects tokens that are not for heddle, and changed tokens', async () => {
    const [server, other] = await Promise.all([startAuthorizationServer(), startAuthorizationServer()]);
    const { url } = await startHttp(['--oauth-issuer', server.issuer]);
    const good = await server.machineToken('machine-a', url);
    const [header, payload, signature] = good.split('.') as [string, string, string];
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const { keys } = (await (await fetch(`${server.issuer}/jwks`)).json()) as { keys: JsonWebKey[] };
    const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
    const pem = createPublicKey({ key: keys[0]!, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    const hs256 = `${encoded({ alg: 'HS256', typ: 'at+jwt', kid: JSON.parse(Buffer.from(header, 'base64url').toString()).kid })}.${payload}`;
    const cases: [string, string, string][] = [
      ['expired', await server.sign({ ...claims, exp: claims.iat - 60 }), 'has expired'],
      ['for another server', await server.machineToken('machine-a', 'https://other.example/mcp'), 'another audience'],
      ['opaque', await server.machineToken('machine-a', 'https://other.example/opaque'), 'is not a signed JWT'],
      ['of another issuer', await other.machineToken('machine-a', url), 'another issuer'],
      ['signed by another issuer', await other.sign(claims), 'a key that its issuer does not have'],
      ['with a changed subject', `${header}.${encoded({ ...claims, sub: 'root' })}.${signature}`, 'a wrong signature'],
      ['not signed', `${encoded({ alg: 'none' })}.${payload}.`, 'with an algorithm that heddle does not accept'],
      [
        'signed with the public key as a secret',
        `${hs256}.${createHmac('sha256', pem).update(hs256).digest('base64url')}`,
        'with an algorithm that heddle does not accept',
      ],
    ];
    for (const [what, token, reason] of cases) {
      const { status, headers } = await list(url, token);
      expect([what, status, headers['www-authenticate']]).toEqual([what, 401, expect.stringContaining(reason)]);
      expect(headers['www-authenticate']).toContain('error="invalid_token"');
    }
    expect((await list(url, good)).status).toBe(200);
    expect((await list(url, await server.sign(claims))).status).toBe(200);
  });

  it('survives a key rotation and an outage of the authorization server without a restart', async () => {
    const server = await startAuthorizationServer();
    const { url } = await startHttp(['--oauth-issuer', server.issuer]);
    await server.pause();
    const early = await server.sign({ iss: server.issuer, aud: url, sub: 'mia', scope: 'heddle:read', exp: 4e9 });
    expect(await list(url, early)).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    await server.resume();
    await expect.poll(async () => (await list(url, early)).status, { interval: 250 }).toBe(200);

    await server.rotate();
    const late = await server.machineToken('machine-a', url);
    // heddle may have fetched the keys just before, and then waits before the next time.
    await expect.poll(async () => (await list(url, late)).status, { interval: 250 }).toBe(200);
    expect((await list(url, early)).status).toBe(200);
    await server.pause();
    for (const token of [early, late]) expect((await list(url, token)).status).toBe(200);
  });

  /** Starts a service with a dataset, behind a proxy that records all requests to it. */
  async function startRecordedService(name: string): Promise<{ account: Account; recorded: () => string }> {
    const account = await startServiceWithAccount(name, `team/${name}`);
    const dataset = { object_id: 'rows', val: { rows: [] }, builtin_object_class: 'Dataset' };
    const created = await fetch(`${account.baseUrl}/obj/create`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${account.username}:${account.password}`)}` },
      body: JSON.stringify({ obj: { project_id: account.project, ...dataset } }),
    });
    expect(created.status).toBe(200);
    let recorded = '';
    const address = await proxyTo(account.baseUrl, (sent) => {
      recorded += sent;
      return 'pass';
    });
    return { account: { ...account, baseUrl: address.replace(/\/$/, '') }, recorded: () => recorded };
  }

  it('gives two subjects two services, and sends their tokens to neither', async () => {
    const server = await startAuthorizationServer();
    const [a, b] = await Promise.all([startRecordedService('ada'), startRecordedService('bob')]);
    const { environment, subjectsFile } = setUpProfiles({ a: a.account, b: b.account }, { mia: 'a', 'machine-b': 'b' });
    const { url, output } = await startHttp(
      ['--oauth-issuer', server.issuer, '--subjects', subjectsFile, '--log-level', 'debug', '--metrics-port', '0'],
      environment,
    );
    const mia = new OAuthUser('mia', { client_id: 'desktop', issuer: server.issuer });
    const { client: clientA, transport } = await signedIn(url, mia, 'legacy');
    const ofA = [mia.tokens()!.access_token];
    const ofB = await server.machineToken('machine-b', url);
    const clientB = await connected(url, ofB, { pin: '2026-07-28' });

    const create = (client: Client, name: string, project: string) =>
      client.callTool({
        name: 'create_evaluation',
        arguments: { name, dataset: `weave:///${project}/object/rows:latest` },
      });
    await expect(create(clientA, 'evaluation of a', 'team/ada')).rejects.toThrow(/Unauthorized/);
    await mia.signIn(transport);
    ofA.push(mia.tokens()!.access_token);
    expect((await create(clientA, 'evaluation of a', 'team/ada')).isError).toBeFalsy();
    expect((await create(clientB, 'evaluation of b', 'team/bob')).isError).toBeFalsy();
    const seen = async (client: Client): Promise<string> => {
      const { structuredContent } = await client.callTool({ name: 'list_objects', arguments: { kind: 'evaluation' } });
      return JSON.stringify(structuredContent);
    };
    const both = await Promise.all(Array.from({ length: 50 }, async () => [await seen(clientA), await seen(clientB)]));
    for (const [seenByA, seenByB] of both) {
      expect(seenByA).toContain('team/ada/object/evaluation_of_a');
      expect(seenByA).not.toContain('_of_b');
      expect(seenByB).toContain('team/bob/object/evaluation_of_b');
      expect(seenByB).not.toContain('_of_a');
    }
    // The metrics count the calls of all subjects.
    const { body: metrics } = await ask(/^metrics on (\S+)$/m.exec(output.stderr)![1]!, { method: 'GET' });
    expect(metrics).toContain('heddle_tool_calls_total{tool="list_objects",code="ok"} 100');
    expect(clientA.getInstructions()).toContain(a.account.baseUrl);
    expect(clientB.getInstructions()).toContain(b.account.baseUrl);

    // Each evaluation takes three requests, of which two look the dataset and earlier versions up.
    const requests = 53;
    for (const { account, recorded } of [a, b]) {
      const basic = Buffer.from(`${account.username}:${account.password}`).toString('base64');
      const sent = [...recorded().matchAll(/^authorization: (.*?)\r$/gim)].map(([, value]) => value);
      expect(sent).toEqual(Array(requests).fill(`Basic ${basic}`));
    }
    for (const token of [...ofA, ofB]) {
      for (const part of token.split('.').slice(1)) {
        expect(a.recorded() + b.recorded() + output.stderr).not.toContain(part);
      }
    }
    expect(await list(url, await server.machineToken('writer', url))).toMatchObject({
      status: 403,
      body: expect.stringContaining('no profile for the subject \\"writer\\"'),
    });
  });
});
