import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { type AnyClient, callEveryTool, exampleFor } from '../../protocol/every-tool.ts';
import { ask, jsonHeaders, olderRequest, startHttp } from '../../protocol/http-process.ts';
import { Person } from './person.ts';
import { setUpProfiles, startServiceFor } from './profiles.ts';
import { hasAuthorizationServer, startAuthorizationServer } from './start-authorization-server.ts';

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

async function connected(url: string, token: string, mode: Era = 'legacy'): Promise<Client> {
  const client = newClient(mode);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

/** A client whose person has signed in. */
async function signedIn(url: string, person: Person, mode: Era) {
  const transport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: person });
  const first = transport();
  await expect(newClient(mode).connect(first)).rejects.toThrow(/Unauthorized/);
  await person.signIn(first);
  const client = newClient(mode);
  const second = transport();
  await client.connect(second);
  return { client, transport: second };
}

test.skipIf(!hasAuthorizationServer).each(eras)(
  "the SDK client's own flow: a person signs in, and again when a tool needs a wider scope, revision %s",
  async (_, mode) => {
    const { issuer } = await startAuthorizationServer();
    const { url } = await startHttp(['--oauth-issuer', issuer]);
    const mia = new Person('mia', { client_id: 'desktop', issuer });
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
    expect(await callEveryTool(client as AnyClient)).toHaveLength(7);
  },
);

test.skipIf(!hasAuthorizationServer)('a client that nobody knows registers itself', async () => {
  const { issuer } = await startAuthorizationServer();
  const { url } = await startHttp(['--oauth-issuer', issuer]);
  const mia = new Person('mia');
  const { client } = await signedIn(url, mia, 'legacy');
  expect((await client.listTools()).tools).toHaveLength(7);
  expect(mia.clientInformation()?.client_id).toMatch(/^[\w-]{43}$/);
});

test.skipIf(!hasAuthorizationServer)('a program comes in by client credentials', async () => {
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
  expect((await client.listTools()).tools).toHaveLength(7);
});

test.skipIf(!hasAuthorizationServer)('two subjects see two services, and their tokens reach neither', async () => {
  const server = await startAuthorizationServer();
  const [a, b] = await Promise.all([startServiceFor('ada', 'team/ada'), startServiceFor('bob', 'team/bob')]);
  const { environment, subjectsFile } = await setUpProfiles({ a, b }, { 'machine-a': 'a', 'machine-b': 'b' });
  const { url } = await startHttp(['--oauth-issuer', server.issuer, '--subjects', subjectsFile], environment);
  const [ofA, ofB, ofStranger] = await Promise.all(
    (['machine-a', 'machine-b', 'writer'] as const).map((machine) => server.machineToken(machine, url)),
  );
  const [clientA, clientB] = await Promise.all([connected(url, ofA!), connected(url, ofB!)]);
  for (const [client, name] of [
    [clientA, 'evaluation of a'],
    [clientB, 'evaluation of b'],
  ] as const) {
    const created = await client.callTool({
      name: 'create_evaluation',
      arguments: { name, dataset: 'weave:///x/y/object/z:latest' },
    });
    expect(created.isError).toBeFalsy();
  }
  const seen = async (client: Client): Promise<unknown> => {
    const { structuredContent } = await client.callTool({ name: 'list_objects', arguments: { kind: 'evaluation' } });
    return structuredContent;
  };
  const [ofServiceA, ofServiceB] = [JSON.stringify(await seen(clientA)), JSON.stringify(await seen(clientB))];
  expect(ofServiceA).toContain('team/ada/object/evaluation_of_a');
  expect(ofServiceA).not.toContain('_of_b');
  expect(ofServiceB).toContain('team/bob/object/evaluation_of_b');
  expect(ofServiceB).not.toContain('_of_a');
  expect(clientA.getInstructions()).toContain(a.baseUrl);
  expect(clientB.getInstructions()).toContain(b.baseUrl);

  const headers = { ...jsonHeaders, authorization: `Bearer ${ofStranger}` };
  expect(await ask(url, { ...olderRequest('tools/list'), headers })).toMatchObject({
    status: 403,
    body: expect.stringContaining('nothing is set up here for the subject \\"writer\\"'),
  });
});
