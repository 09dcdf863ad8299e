import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/heddle.ts';

const root = join(import.meta.dirname, '../../..');

/** Compiles a program that imports the built package by its name, and returns the output of the compiler. */
function compile(program: string, target = 'es2023'): { code: number | null; output: string } {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/heddle'));
  symlinkSync(join(root, 'node_modules/zod'), join(folder, 'node_modules/zod'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'program.ts'), program);
  const flags = `--strict --noEmit --target ${target} --module nodenext --skipLibCheck false --ignoreConfig`.split(' ');
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')];
  const compiler = join(root, 'node_modules/typescript/lib/tsc.js');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [compiler, ...flags, '--allowImportingTsExtensions', ...types, join(folder, 'program.ts')],
    { cwd: folder, encoding: 'utf8' },
  );
  return { code: status, output: stdout + stderr };
}

const rightUses = `
import { contract, createClient, createServer, HeddleError, parseReference } from 'heddle';
import type { Client, QueryQueueItemsRequest, QueueItem } from 'heddle';

const client: Client = createClient({ baseUrl: 'http://127.0.0.1:9', username: 'ada', password: 'opensesame' });
const body: QueryQueueItemsRequest = { project_id: 'team/support', filter: { annotation_states: ['unstarted'] } };
const { items } = await client.call('queryQueueItems', { path: { queue_id: 'q1' }, body });
const item: QueueItem = items[0]!;
const state: string = item.annotation_state;
const { version_index } = await client.call('createEvaluation', { path: { entity: 'team', project: 'support' }, body: { name: 'E', dataset: 'weave:///a/b/object/d:1' } });
const index: number = version_index;
await client.call('updateProgress', { path: { queue_id: 'q1', item_id: 'i1' }, body: { project_id: 'team/support', annotation_state: 'completed' } });
const path: string = contract.queryQueueItems.path;
const server = createServer({ readOnly: true, log: (level, message) => console.log(level, message, state, index, path) });
const failure: string = new Error() instanceof HeddleError ? 'code' : (parseReference('x')?.project ?? '');
await server.close();
console.log(failure);
`;

describe('the types of the package', () => {
  it('accept correct uses without any other package', () => {
    expect(compile(rightUses)).toEqual({ code: 0, output: '' });
  });

  it('reject each wrong use', () => {
    const wrongUses = [
      [
        'a limit that is a string',
        "client.call('queryQueueItems', { path: { queue_id: 'q1' }, body: { project_id: 'a/b', limit: '5' } });",
        'TS2322',
      ],
      ['a body without a project', "client.call('queryQueueItems', { path: { queue_id: 'q1' }, body: {} });", 'TS2741'],
      [
        'an unknown member of a body',
        "client.call('queryQueueItems', { path: { queue_id: 'q1' }, body: { project_id: 'a/b', project: 'c' } });",
        'TS2353',
      ],
      ['a path without its parameter', "client.call('queryQueueItems', { path: {}, body });", 'TS2741'],
      ['no body', "client.call('queryQueueItems', { path: { queue_id: 'q1' } });", 'TS2741'],
      ['a state that no item has', "body.filter = { annotation_states: ['done'] };", 'TS2322'],
      ['an unknown operation', "client.call('dropQueue', {});", 'TS2345'],
      ['a list of items as a string', 'export const text: string = items;', 'TS2322'],
      ['an endpoint that is not in the contract', 'contract.renameEverything;', 'TS2339'],
      ['a server option of another type', "createServer({ readOnly: 'yes' });", 'TS2322'],
      ['a client without a base URL', 'createClient({});', 'TS2741'],
    ];
    const { output } = compile(rightUses + wrongUses.map(([, use]) => `${use}\n`).join(''));
    const firstLine = rightUses.split('\n').length;
    const errors = [...output.matchAll(/^program\.ts\((\d+),\d+\): error (TS\d+)/gm)].map(([, line, code]) => [
      wrongUses[Number(line) - firstLine]?.[0] ?? `line ${line}`,
      code,
    ]);
    expect(errors).toEqual(wrongUses.map(([name, , code]) => [name, code]));
  });

  it('allow the same values as the schemas of the contract', () => {
    const source = (file: string): string => JSON.stringify(join(root, 'src/contract', file));
    const { code, output } = compile(
      `
import type * as z from 'zod';
import type { CallParts as Parts, endpoints, ResultOf as Result } from ${source('endpoints.ts')};
import type { CallParts, contract, CreateEvaluationRequest, InferenceRequest, QueryQueueItemsRequest, QueueItem, ResultOf } from 'heddle';

type Body<Name extends keyof typeof endpoints> = z.input<(typeof endpoints)[Name]['response']>;
type Request<Name extends 'queryQueueItems' | 'runInference' | 'createEvaluation'> = z.input<NonNullable<(typeof endpoints)[Name]['request']>>;
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

export const checks: [
  Same<keyof typeof contract, keyof typeof endpoints>,
  Same<QueryQueueItemsRequest, Request<'queryQueueItems'>>,
  Same<InferenceRequest, Request<'runInference'>>,
  Same<CreateEvaluationRequest, Request<'createEvaluation'>>,
  Same<QueueItem, Body<'queryQueueItems'>['items'][number]>,
  Same<CallParts<'readQueue'>, Parts<'readQueue'>>,
  Same<CallParts<'listEvaluationRuns'>, Parts<'listEvaluationRuns'>>,
  Same<CallParts<'updateProgress'>, Parts<'updateProgress'>>,
  Same<ResultOf<'queryQueues'>, Result<'queryQueues'>>,
] = [true, true, true, true, true, true, true, true, true];
`,
      'es2024',
    );
    expect({ code, output }).toEqual({ code: 0, output: '' });
  });
});
