import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, emptyHome, run, runAtTerminal, temporaryFolder } from '../support/heddle.ts';

const folder = temporaryFolder();
const environment = emptyHome(folder, { HEDDLE_PROJECT: 'team/answers', NO_COLOR: '1' });
beforeAll(async () => {
  const file = join(folder, 'rows.csv');
  writeFileSync(file, `question,answer\n${Array.from({ length: 40 }, (_, n) => `${n}?,A\n`).join('')}`);
  await run(['import', file, '--field', 'helpful:boolean'], environment);
  await call('create_queue', { name: 'Again' }, environment);
});

const additions = ['call', 'add_queue_items', '{"queue_id":"Again","filter":{"op_name":"import"}}', '--text'];
const judgements = [
  ...['call', 'update_queue_items'],
  '{"queue_id":"rows","filter":{},"change":{"judgements":{"helpful":true},"annotation_state":"completed"}}',
];

describe('heddle call of a change of more than 20 items', () => {
  it('asks at a terminal, and changes nothing after a no', async () => {
    const { code, stdout } = await runAtTerminal(additions, environment, { answer: 'n' });
    expect(stdout).toMatch(/Add 40 calls to queue "Again" \(.*\)\?/);
    expect([code, stdout.trimEnd().split('\n').at(-1)]).toEqual([1, 'Nothing was changed.']);
  });

  it('makes the change after a yes', async () => {
    const added = await runAtTerminal(additions, environment, { answer: 'y' });
    expect([added.code, added.stdout]).toEqual([0, expect.stringContaining('Added 40 calls to queue')]);
    const judged = await runAtTerminal(judgements, environment, { answer: 'y' });
    expect([judged.code, judged.stdout]).toEqual([0, expect.stringContaining('40 items matched. 40 done.')]);
  });

  it('says in a pipe how to agree', async () => {
    const { code, stderr } = await run([...judgements, '--table'], environment);
    expect([code, stderr]).toEqual([
      1,
      `heddle: Nothing was changed: changing 40 items needs the user's agreement. Skipped items stay skipped, completed ones until their judgements are taken back.
Run it at a terminal, where heddle asks you, or add "confirm": true to the arguments, or change at most 20 at once. (invalid_arguments)
`,
    ]);
  });
});
