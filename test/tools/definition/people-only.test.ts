import { describe, expect, it } from 'vitest';
import { type ConnectedClient, connectClient } from '../../support/client.ts';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';

const queue_id = 'support-triage';
const connect = (environment: Record<string, string> = {}) => connectClient(emptyHome(temporaryFolder(), environment));
const { call, client } = await connect();

/** Calls a tool that does not exist, and returns the message of the error. */
async function refusalOf(name: string, { client: other }: Pick<ConnectedClient, 'client'> = { client }) {
  const failed = other.callTool({ name, arguments: { queue_id } });
  return failed.then(
    () => 'no error',
    (error: Error) => error.message,
  );
}

describe('adviceForPeople', () => {
  it.each([
    [
      'summarize_queue',
      { queue_id, export: 'csv' },
      '`heddle queue export support-triage --format csv --wide --values --out support-triage-judgements.csv`',
    ],
    ['query_queue_items', { queue_id, filter: { assigned_to: 'ben' } }, '`heddle board support-triage`'],
    [
      'update_queue_items',
      { queue_id, items: [{ item_id: 'x', annotation_state: 'deleted' }] },
      'update_queue removes items and deletes queues.',
    ],
    [
      'update_queue',
      { queue_id, remove_fields: ['helpful'] },
      'Nothing was sent. No tool removes or changes a field, because judgements refer to it: add another one with add_fields of update_queue,',
    ],
    ['query_calls', { set_price: 0.2 }, '`heddle price MODEL --input USD --output USD`'],
    ['list_objects', { kind: 'backup' }, '`heddle service backup FILE`'],
    ['list_objects', { kind: 'accounts' }, '`heddle service add-user NAME PROJECT`'],
    ['query_queue_items', { queue_id, format: 'csv' }, '`heddle queue export support-triage --format csv'],
    ['add_queue_items', { queue_id: 'Old checks', file: 'rows.csv' }, '`heddle import FILE --queue NAME`'],
    ['add_queue_items', { queue_id: 'Old checks', path: 'rows.csv' }, '`heddle import FILE --queue NAME`'],
    ['query_queue_items', { queue_id: 'Old checks', format: 'csv' }, "`heddle queue export 'Old checks' --format csv"],
    [
      'read_evaluation',
      { evaluation: 'x', format: 'csv' },
      '`heddle evaluation export RUN --format csv --out rows.csv`',
    ],
    [
      'query_calls',
      { format: 'csv' },
      'the user can run `heddle call query_calls ARGUMENTS`, which prints JSON. For CSV, add the calls to a queue (add_queue_items), which the user exports with `heddle queue export QUEUE --format csv',
    ],
    ['read_object', { ref: 'tickets', download: true }, '`heddle call read_object ARGUMENTS`, which prints JSON.'],
    ['create_dataset', { name: 'd', file: 'rows.csv' }, '`heddle service put-dataset NAME FILE`'],
    ['create_prompt', { name: 'p', file: 'p.txt' }, '`heddle service put-prompt NAME FILE`'],
    [
      'add_queue_items',
      { queue_id, rows: [{ a: 1 }] },
      'No tool reads files or records calls: the user can run `heddle import FILE --queue NAME`.',
    ],
    ['query_queue_items', { queue_id, output_file: 'x' }, '`heddle queue export support-triage --format csv'],
    ['query_queue_items', { queue_id, format: 'json' }, '`heddle queue export support-triage --format csv'],
    ['update_queue', { queue_id, move_to: 'team/other' }, 'add their calls to the other queue with add_queue_items'],
    [
      'update_queue_items',
      { queue_id, items: [{ item_id: 'x', queue_id: 'other' }] },
      'add their calls to the other queue with add_queue_items',
    ],
    ['list_queues', { users: true }, '`heddle service add-user NAME PROJECT`'],
    [
      'update_queue',
      { queue_id, members: ['ben'] },
      'No tool manages accounts; assignees names those who may claim items: the user can run',
    ],
    ['update_queue', { queue_id, share_with: ['ben'] }, '`heddle service invite NAME PROJECT` for a link to the board'],
    ['review_queue', { queue_id, link: true }, '`heddle board support-triage`'],
    ['run_evaluation', { run_id: 'x', cancel: true }, 'it ends when the user cancels the call of run_evaluation'],
    ['query_calls', { price: true }, '`heddle price MODEL --input USD --output USD`'],
    ['list_objects', { kind: 'prices' }, '`heddle price MODEL --input USD --output USD`'],
    ['query_calls', { delete: true }, 'programs can, with POST /calls/delete and POST /obj/delete of the service'],
    ['update_queue', { queue_id, undo: true }, 'retract names the fields, note, or * for all'],
    ['create_scorer', { name: 's', kind: 'python' }, 'the setting HEDDLE_SCORER_ENDPOINTS'],
    [
      'update_queue_items',
      { queue_id, items: [{ item_id: 'x', annotator: 'ana' }] },
      'update_queue_items those of single items (assignees). No tool judges for other people: they do, for example on the board of `heddle board support-triage`.',
    ],
    ['create_dataset', { name: 'd', uploadFile: 'rows.csv' }, '`heddle service put-dataset NAME FILE`'],
    ['create_scorer', { name: 's', kind: 'json_valid', format: 'json' }, 'Correct the arguments and call again.'],
  ])('tells in the error of %s with %j what people do', async (tool, args, command) => {
    const { error } = await call(tool, args);
    expect(error.code).toBe('invalid_arguments');
    expect(error.hint).toContain(command);
  });

  it.each([
    [
      'export_judgements',
      '`heddle queue export support-triage --format csv --wide --values --out support-triage-judgements.csv`',
    ],
    ['cancel_run', 'it ends when the user cancels the call of run_evaluation'],
    ['move_items', 'remove_items of update_queue'],
    ['export_run', '`heddle evaluation export RUN --format csv --out rows.csv`'],
    ['export_dataset', '`heddle call read_object ARGUMENTS`'],
    ['delete_judgement', 'retract names the fields, note, or * for all'],
    ['delete_calls', '`heddle service reset`'],
    ['create_user', '`heddle service add-user NAME PROJECT`'],
    ['restoreBackup', '`heddle service restore FILE`'],
    ['copy_project', '`heddle service copy --to PROFILE`'],
    ['login', '`heddle login`'],
  ])('tells it when the tool %s is called', async (name, command) => {
    expect(await refusalOf(name)).toContain(command);
  });

  it('says nothing of commands for other unknown names, and where a known name is near', async () => {
    const correct = 'Nothing was sent. Correct the arguments and call again.';
    expect((await call('query_queue_items', { queue_id, colour: 'red' })).error.hint).toBe(correct);
    expect((await call('update_queue', { queue_id, remove: ['x'] })).error).toMatchObject({
      message: expect.stringContaining('did you mean remove_items?'),
      hint: correct,
    });
    expect((await call('update_queue', { queue_id, remove_itms: ['x'] })).error).toMatchObject({
      message: expect.stringContaining('did you mean remove_items?'),
      hint: correct,
    });
  });

  it('adds the project and the profile where a terminal would use others', async () => {
    const other = await call('summarize_queue', { queue_id: 'q;1', project_id: 'team/other', export: true });
    expect(other.error.hint).toContain(
      "`heddle queue export 'q;1' --format csv --wide --values --out q_1-judgements.csv --project team/other`",
    );
    const configured = await connect({ HEDDLE_PROJECT: 'team/support' });
    expect(await refusalOf('export_queue', configured)).toContain(
      '--out support-triage-judgements.csv --project team/support`',
    );
    expect((await configured.call('list_objects', { kind: 'backup' })).error.hint).toContain(
      '`heddle service backup FILE`',
    );
    const remote = await connect({ HEDDLE_BASE_URL: 'http://127.0.0.1:9', HEDDLE_PROJECT: 'team/support' });
    expect(await refusalOf('export_queue', remote)).toContain(
      '--out support-triage-judgements.csv --base-url http://127.0.0.1:9 --project team/support`',
    );
    expect(await refusalOf('backup', remote)).toContain('No tool and no command backs up this service');
  });

  it('names the command that deletes a queue where the user has switched update_queue off', async () => {
    const { client: reader } = await connect({ HEDDLE_READ_ONLY: 'true' });
    expect(await refusalOf('delete_queue', { client: reader })).toContain('`heddle queue delete support-triage`');
  });
});
