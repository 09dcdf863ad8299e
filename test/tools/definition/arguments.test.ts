import { describe, expect, it } from 'vitest';
import { call, emptyHome, temporaryFolder } from '../../support/heddle.ts';

const evaluation = { name: 'E', dataset: 'weave:///a/b/object/d:latest' };

describe('parseArguments', () => {
  // Tool, arguments, location and type of the first fault.
  it.each([
    ['query_queue_items', {}, ['arguments', 'queue_id'], 'missing'],
    ['query_queue_items', { queue: 'q', queue_id: 'q' }, ['arguments', 'queue'], 'extra_forbidden'],
    ['query_queue_items', { queue_id: 7 }, ['arguments', 'queue_id'], 'string_type'],
    ['query_queue_items', { queue_id: 'q', limit: -1 }, ['arguments', 'limit'], 'greater_than_equal'],
    ['query_queue_items', { queue_id: 'q', offset: 1.5 }, ['arguments', 'offset'], 'int_type'],
    [
      'query_queue_items',
      { queue_id: 'q', filter: { annotation_states: ['done'] } },
      ['arguments', 'filter', 'annotation_states', 0],
      'enum',
    ],
    [
      'query_queue_items',
      { queue_id: 'q', sort_by: [{ field: 'id', direction: 'asc' }] },
      ['arguments', 'sort_by', 0, 'field'],
      'enum',
    ],
    [
      'query_queue_items',
      { queue_id: 'q', project_id: 'support' },
      ['arguments', 'project_id'],
      'string_pattern_mismatch',
    ],
    ['query_queue_items', { queue_id: '' }, ['arguments', 'queue_id'], 'greater_than_equal'],
    ['query_queue_items', [], ['arguments'], 'object_type'],
    ['run_inference', { messages: [] }, ['arguments', 'model'], 'missing'],
    ['run_inference', { model: 'm', path: '/../../v2/x' }, ['arguments', 'path'], 'value_error'],
    ['run_inference', { model: 'm', path: '/%2e%2e/x' }, ['arguments', 'path'], 'string_pattern_mismatch'],
    ['run_inference', { model: 'm', temperature: 'hot' }, ['arguments', 'temperature'], 'number_type'],
    ['create_evaluation', { ...evaluation, dataset: 7 }, ['arguments', 'dataset'], 'string_type'],
    ['create_evaluation', { ...evaluation, trials: 0 }, ['arguments', 'trials'], 'greater_than_equal'],
    ['create_evaluation', { ...evaluation, scorers: [''] }, ['arguments', 'scorers', 0], 'greater_than_equal'],
  ])('refuses %s %j before anything is sent', async (tool, args, loc, type) => {
    const folder = temporaryFolder();
    const { code, result } = await call(tool, args, emptyHome(folder));
    expect(code).toBe(1);
    expect(result).toMatchObject({ code: 'invalid_arguments', retryable: false });
    expect(result.detail[0]).toMatchObject({ loc, type });
  });

  it('suggests the nearest known name for an unknown member', async () => {
    const { result } = await call(
      'query_queue_items',
      { queue_id: 'q', filter: { annotation_state: ['unstarted'] } },
      emptyHome(temporaryFolder()),
    );
    const msg = 'Unknown member (did you mean annotation_states?)';
    expect(result.message).toContain(`filter.annotation_state: ${msg}`);
    expect(result.detail).toEqual([{ loc: ['arguments', 'filter', 'annotation_state'], msg, type: 'extra_forbidden' }]);
  });

  it('suggests the nearest choice for a value that is none', async () => {
    const sort_by = [{ field: 'latncy', direction: 'desc' }];
    const { result } = await call('query_queue_items', { queue_id: 'q', sort_by }, emptyHome(temporaryFolder()));
    expect(result.message).toContain(', did you mean latency?');
    expect(result.detail).toMatchObject([{ loc: ['arguments', 'sort_by', 0, 'field'], type: 'enum' }]);
  });

  it('suggests a name that begins with an unknown one', async () => {
    const { result } = await call('query_queue_items', { queue: 'q' }, emptyHome(temporaryFolder()));
    expect(result.message).toContain('queue: Unknown member (did you mean queue_id?).');
  });

  it('names five faults in its message, counts the others, and lists at most twenty', async () => {
    const refused = async (count: number) => {
      const unknown = Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, 1]));
      const { result } = await call('read_call', { call_id: 'c', ...unknown }, emptyHome(temporaryFolder()));
      return [
        result.message.split(/x\d: /).length - 1,
        result.message.match(/ and \d+ more\.$/)?.[0],
        result.detail.length,
      ];
    };
    expect(await refused(5)).toEqual([5, undefined, 5]);
    expect(await refused(7)).toEqual([5, ' and 2 more.', 7]);
    expect(await refused(30)).toEqual([5, ' and 25 more.', 20]);
  });

  it('treats null as absent for every member that the schema names', async () => {
    const { code, result } = await call(
      'query_queue_items',
      { queue_id: 'support-triage', project_id: null, filter: { id: null }, sort_by: null, limit: null, offset: null },
      emptyHome(temporaryFolder()),
    );
    expect(code).toBe(0);
    expect(result.offset).toBe(0);
  });
});
