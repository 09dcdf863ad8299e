import { describe, expect, it } from 'vitest';
import { basic, execute, longText, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService();

async function store(object_id: string, val: unknown): Promise<string> {
  const obj = { project_id: 'p/q', object_id, val };
  const { status, body } = await service.send('POST', '/obj/create', basic, { obj });
  expect(status).toBe(200);
  return `weave:///p/q/object/${object_id}:${body.digest}`;
}

const customer = await store('customer', { name: 'Ada' });
const rows = await store('rows', { rows: [{ question: 'Why?', customer }, 'text'] });
const row = `${rows}/attr/rows/index/0`;
const missing = 'weave:///p/q/object/nothing:unknown';
const inputs = {
  row,
  again: row,
  list: [customer],
  text: `see ${customer}`,
  missing,
  label: `${rows}/attr/rows/index/1`,
};
const line = { call_id: 'c', call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };
await withStore(service.data, (opened) =>
  opened.importItems([JSON.stringify({ ...line, call: { inputs, output: customer } })], {
    projectId: 'p/q',
    queueId: 'q',
  }),
);

/** Reads the call, with the given members of the request. */
async function read(members: object) {
  const { status, body } = await service.send('POST', '/calls/stream_query', basic, { project_id: 'p/q', ...members });
  expect(status).toBe(200);
  return JSON.parse(body);
}

describe('expandReferences', () => {
  it('replaces references only at the given paths, and keeps the reference of an object in _ref', async () => {
    const call = await read({ expand_columns: ['inputs.row', 'output'] });
    expect(call.inputs).toEqual({ ...inputs, row: { question: 'Why?', customer, _ref: row } });
    expect(call.output).toEqual({ name: 'Ada', _ref: customer });
  });

  it('replaces references inside an object that it has inserted, whatever the order of the paths', async () => {
    const expand_columns = ['inputs.row.customer', 'inputs.row', 'inputs.list.0'];
    expect((await read({ expand_columns })).inputs).toEqual({
      ...inputs,
      row: { question: 'Why?', customer: { name: 'Ada', _ref: customer }, _ref: row },
      list: [{ name: 'Ada', _ref: customer }],
    });
  });

  it('replaces a reference to a value that is not an object with the value alone', async () => {
    expect((await read({ expand_columns: ['inputs.label'] })).inputs.label).toBe('text');
  });

  it('leaves other text, broken references and unknown paths unchanged', async () => {
    const expand_columns = ['inputs.text', 'inputs.missing', 'inputs.nothing.deeper', 'inputs.constructor', 'id', ''];
    const call = await read({ expand_columns });
    expect([call.id, call.inputs]).toEqual(['c', inputs]);
  });

  it('keeps references whose values would make a response larger than 64 Mi characters', async () => {
    const large = await store('large', {});
    const content = `'{"text":"' || ${longText(33 * 1024 * 1024)} || '"}'`;
    await execute(service.data, `update objects set content = ${content} where object_id = 'large'`);
    const calls = [large, large, customer].map((value, index) =>
      JSON.stringify({ ...line, call_id: `l${index}`, call: { inputs: { value } } }),
    );
    await withStore(service.data, (opened) => opened.importItems(calls, { projectId: 'p/large', queueId: 'q' }));
    const body = { project_id: 'p/large', expand_columns: ['inputs.value'] };
    const answer = await service.send('POST', '/calls/stream_query', basic, body);
    const values = (answer.body as string)
      .split('\n')
      .slice(0, -1)
      .map((text) => JSON.parse(text).inputs.value);
    const [expanded, left, next] = values;
    expect([expanded._ref, expanded.text.length]).toEqual([large, 33 * 1024 * 1024]);
    expect([left, next]).toEqual([large, { name: 'Ada', _ref: customer }]);
  });

  it('expands the columns that are selected', async () => {
    const call = await read({ columns: ['inputs.row'], expand_columns: ['inputs.row', 'output'] });
    expect([call.inputs.row, call.output]).toEqual([{ question: 'Why?', customer, _ref: row }, null]);
  });
});
