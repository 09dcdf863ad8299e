import { expect } from 'vitest';
import { execute } from '../embedded-service.ts';
import { emptyHome, run, temporaryFolder } from '../heddle.ts';
import type { Done } from './jobs.ts';
import type { Machines, Subject } from './machines.ts';

/** A queue item, as the service returns it. */
export interface Item {
  id: string;
  call_id: string;
  annotation_state: string;
  annotator_user_id: string | null;
}

/** Returns the items of a subject's queue in order. */
export async function itemsOf({ project, credentials }: Subject, { serviceUrl }: Machines): Promise<Item[]> {
  const response = await fetch(`${serviceUrl}/annotation_queues/work/items/query`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${credentials.username}:${credentials.password}`)}` },
    body: JSON.stringify({ project_id: project }),
  });
  return ((await response.json()) as { items: Item[] }).items;
}

/** Asserts that the stored data is exactly what was acknowledged, and belongs to the subject's account. */
export async function expectStored(subject: Subject, all: Done[], machines: Machines): Promise<void> {
  const { name, account, project } = subject;
  const acknowledged = all.filter((call) => call.subject === name && call.result !== undefined);
  const of = (tool: string) => acknowledged.filter((call) => call.tool === tool);

  // Each definition is one version. Its index may be another than in its response: a creation that is repeated, because a kill took
  // the response, makes its version the newest.
  const { stdout } = await run(
    ['service', 'list', '--json', '--project', project],
    emptyHome(temporaryFolder(), { HEDDLE_DATABASE_URL: machines.databaseUrl }),
  );
  const [{ objects }] = JSON.parse(stdout) as [{ objects: { kind: string; object_id: string; versions: Version[] }[] }];
  const evaluations = objects.filter(({ kind }) => kind === 'evaluation');
  const versions = evaluations.flatMap(({ object_id, versions }) =>
    versions.map(({ digest }) => `${object_id} ${digest}`),
  );
  const created = of('create_evaluation').map(({ result: { object_id, digest } }) => `${object_id} ${digest}`);
  expect(versions.sort()).toEqual(created.sort());
  for (const { versions } of evaluations)
    expect(versions.map(({ version_index }) => version_index).sort((a, b) => a - b)).toEqual([...versions.keys()]);

  // Exactly the judged items are finished, by this account.
  const judged = of('update_queue_items');
  const finished = (await itemsOf(subject, machines)).filter(
    ({ annotation_state }) => annotation_state !== 'unstarted',
  );
  expect(
    finished.map(({ id, annotation_state, annotator_user_id }) => [id, annotation_state, annotator_user_id]).sort(),
  ).toEqual(judged.map(({ result }) => [result.items[0].item_id, 'completed', account]).sort());

  // The service cannot list feedback, so this reads the rows.
  const rows = await execute(
    machines.databaseUrl,
    `select payload, wb_user_id from feedback where project_id = '${project}'`,
  );
  expect(rows.map(({ payload, wb_user_id }) => `${payload} ${wb_user_id}`).sort()).toEqual(
    judged.map(({ mark }) => `${JSON.stringify({ value: mark })} ${account}`).sort(),
  );
  const makers = await execute(
    machines.databaseUrl,
    `select distinct created_by from objects where project_id = '${project}' and base_object_class = 'Evaluation'`,
  );
  expect(makers).toEqual(created.length > 0 ? [{ created_by: account }] : []);
}

interface Version {
  version_index: number;
  digest: string;
}

/** Asserts that the model got successful inferences once and failed ones at most once. */
export function expectAskedOnce(all: Done[], { model }: Machines): void {
  const inferences = all.filter(({ tool }) => tool === 'run_inference');
  const answered = inferences.filter(({ result }) => result !== undefined);
  expect(answered.filter(({ mark }) => model.asked.get(mark!) !== 1)).toEqual([]);
  expect([...model.asked].filter(([, times]) => times > 1)).toEqual([]);
  const known = new Set(inferences.map(({ mark }) => mark));
  expect([...model.asked.keys()].filter((mark) => !known.has(mark))).toEqual([]);
}
