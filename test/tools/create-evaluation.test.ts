import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { sendGoodResponse, sendResponse, startFakeService } from '../support/fake-service.ts';
import { call, emptyHome, run, temporaryFolder } from '../support/heddle.ts';

const evaluation = { name: 'Weekly check', dataset: 'weave:///demo/support/object/tickets:latest' };

describe('create_evaluation', () => {
  it('returns the same version for the same content and the next version for different content', async () => {
    const environment = emptyHome(temporaryFolder());
    const first = await call('create_evaluation', evaluation, environment);
    const again = await call('create_evaluation', evaluation, environment);
    const other = await call('create_evaluation', { ...evaluation, description: 'with a description' }, environment);
    expect(first.result).toMatchObject({ object_id: 'weekly_check', version_index: 0 });
    expect(first.result.digest).toMatch(/^[A-Za-z0-9]{43}$/);
    expect(first.result.evaluation_ref).toBe(`weave:///demo/support/object/weekly_check:${first.result.digest}`);
    expect(first.result).toMatchObject({ existed: false, newest_version: 0 });
    expect(again.result).toEqual({ ...first.result, existed: true });
    expect(other.result.version_index).toBe(1);
    expect(other.result.digest).not.toBe(first.result.digest);
  });

  it('makes one of the sample project that can be run as it is', async () => {
    const environment = emptyHome(temporaryFolder());
    await call('create_evaluation', { ...evaluation, scorers: ['names_label', 'brief'] }, environment);
    const model = { model: 'heddle/echo', messages: [{ role: 'user', content: 'Sort: {question} {label}' }] };
    const { result } = await call('run_evaluation', { evaluation: 'Weekly check', ...model }, environment);
    expect(result).toMatchObject({
      status: 'complete',
      scorers: [
        { scorer: 'names_label', n: 4, pass_rate: 1 },
        { scorer: 'brief', n: 4, pass_rate: 0 },
      ],
    });
    expect(result).not.toHaveProperty('warnings');
  });

  it('stores references by name as the digests of their current versions', async () => {
    const environment = emptyHome(temporaryFolder());
    const { result } = await call(
      'create_evaluation',
      { ...evaluation, scorers: ['weave:///demo/support/object/brief:v0'] },
      environment,
    );
    const { code, stdout } = await run(['service', 'list', '--json'], environment);
    expect(code).toBe(0);
    const [{ objects }] = JSON.parse(stdout);
    const digestOf = (name: string) =>
      objects.find(({ object_id }: { object_id: string }) => object_id === name).versions[0].digest;
    const pinned = await call(
      'create_evaluation',
      {
        ...evaluation,
        dataset: `weave:///demo/support/object/tickets:${digestOf('tickets')}`,
        scorers: [`weave:///demo/support/object/brief:${digestOf('brief')}`],
      },
      environment,
    );
    expect(pinned.result).toEqual({ ...result, existed: true });
  });

  it('resolves the names of a dataset and of scorers to their newest versions', async () => {
    const { call: callTool } = await connectClient(emptyHome(temporaryFolder()));
    const scorers = ['brief', 'Names_label'];
    const named = await callTool('create_evaluation', { name: 'Named', dataset: 'Tickets', scorers });
    const references = scorers.map((name) => `weave:///demo/support/object/${name.toLowerCase()}:latest`);
    expect(await callTool('create_evaluation', { ...evaluation, name: 'Named', scorers: references })).toMatchObject({
      existed: true,
      digest: named.digest,
    });
  });

  it('stores nothing where the dataset lacks a column that a scorer needs, and names the nearest', async () => {
    const { call: callTool } = await connectClient(emptyHome(temporaryFolder()));
    const judge = { name: 'Fair', kind: 'llm_judge', model: 'heddle/echo', prompt: '{output} {questoin}' };
    await callTool('create_scorer', judge);
    await callTool('create_scorer', { name: 'Same', kind: 'equals', expected: 'lable' });
    const store = (name: string) =>
      callTool('create_evaluation', { name: 'Wrong', dataset: 'tickets', scorers: [name] });
    expect((await store('Fair')).error).toMatchObject({
      code: 'invalid_request',
      message: 'Nothing was stored: the judge fair cannot be asked, because the dataset has no column for {questoin}.',
      hint: expect.stringContaining('The nearest columns to questoin are question'),
    });
    expect((await store('Same')).error).toMatchObject({
      message: 'Nothing was stored: the scorer same needs the column lable, which the dataset does not have.',
      hint: expect.stringContaining('The nearest columns to lable are label'),
    });
    expect((await callTool('list_objects', { kind: 'evaluation', name: 'wrong' })).objects).toEqual([]);
  });

  it('takes a scorer that is a function, and warns of attributes that overwrite the definition', async () => {
    const service = await startFakeService();
    service.respond = (request) => {
      const { object_id } = request.path === '/obj/read' ? JSON.parse(request.body) : { object_id: '' };
      const version = { project_id: 'a/b', object_id, digest: 'd'.repeat(43), version_index: 0 };
      const kind =
        object_id === 'exact_match' ? { kind: 'op', base_object_class: null } : { base_object_class: 'Dataset' };
      if (object_id) sendResponse(request, 200, { obj: { ...version, ...kind } });
      else sendGoodResponse(request);
    };
    const { call: callTool } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    const result = await callTool('create_evaluation', {
      name: 'E',
      dataset: 'weave:///a/b/object/rows:latest',
      scorers: ['weave:///a/b/op/exact_match:latest'],
      eval_attributes: { name: 'other', owner: 'me' },
    });
    expect(result.warnings).toEqual([expect.stringContaining('eval_attributes has name:')]);
    expect(result.text).toContain('eval_attributes has name:');
    const sent = service.requests.find(({ path }) => path.startsWith('/v2/'))!;
    expect(JSON.parse(sent.body)).toMatchObject({
      dataset: `weave:///a/b/object/rows:${'d'.repeat(43)}`,
      scorers: [`weave:///a/b/op/exact_match:${'d'.repeat(43)}`],
    });
  });

  it('stores the references as they are, and says so, at a service that cannot read objects', async () => {
    const service = await startFakeService();
    service.respond = (request) => {
      if (request.path.startsWith('/obj')) sendResponse(request, 404, { detail: 'Not Found' });
      else sendGoodResponse(request);
    };
    const { call: callTool } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    const result = await callTool('create_evaluation', evaluation);
    expect(result.warnings).toEqual(['The references were not checked: the service cannot read objects.']);
    expect(result).not.toHaveProperty('existed');
    expect(JSON.parse(service.requests.at(-1)!.body).dataset).toBe(evaluation.dataset);
    const { error } = await callTool('create_evaluation', { ...evaluation, dataset: 'tickets' });
    expect(error.message).toBe(
      'Nothing was stored: tickets is not a dataset; the service cannot look for names, so a reference is needed.',
    );
  });

  it('numbers versions without gaps when two servers share a data folder', async () => {
    const environment = emptyHome(temporaryFolder());
    const servers = await Promise.all([connectClient(environment), connectClient(environment)]);
    const created = await Promise.all(
      servers.flatMap(({ call: callTool }, server) =>
        Array.from({ length: 5 }, (_, number) =>
          callTool('create_evaluation', { ...evaluation, description: `${server}/${number}` }),
        ),
      ),
    );
    const indices = created.map(({ version_index }) => version_index).sort((a, b) => a - b);
    expect(indices).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});

describe('create_evaluation with wrong references', async () => {
  const { call: callTool } = await connectClient(emptyHome(temporaryFolder()));

  it.each([
    [{ dataset: 'ticket' }, 'not_found', 'The nearest are weave:///demo/support/object/tickets:'],
    [{ dataset: 'brief' }, 'invalid_arguments', 'list_objects with kind dataset'],
    [{ scorers: ['weave://tone'] }, 'invalid_arguments', 'list_objects with kind scorer'],
    [
      { dataset: 'weave:///demo/support/object/tickets2:latest' },
      'not_found',
      'The nearest are weave:///demo/support/object/tickets:',
    ],
    [{ dataset: 'weave:///demo/support/object/tickets:v7' }, 'not_found', 'tickets'],
    [{ dataset: 'weave:///demo/support/object/brief:latest' }, 'invalid_arguments', 'list_objects with kind dataset'],
    [{ dataset: 'weave:///demo/support/call/support-0001' }, 'invalid_arguments', 'list_objects with kind dataset'],
    [
      { scorers: ['weave:///demo/support/object/tickets:latest'] },
      'invalid_arguments',
      'list_objects with kind scorer',
    ],
    [
      { scorers: ['weave:///demo/support/object/none:latest'] },
      'not_found',
      'The nearest are weave:///demo/support/object/brief:',
    ],
  ])('refuses %j and stores nothing', async (members, code, hint) => {
    const { error } = await callTool('create_evaluation', { ...evaluation, ...members });
    expect(error).toMatchObject({ code, hint: expect.stringContaining(hint) });
    expect((await callTool('list_objects', { kind: 'evaluation' })).objects).toEqual([]);
  });
});
