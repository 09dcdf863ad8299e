import * as z from 'zod';
import type { Database, Transaction } from '../storage/database.ts';
import { selectInProject } from '../storage/in-chunks.ts';
import { objectClasses, prepareObject, putVersion, type VersionId } from '../storage/object-versions.ts';
import { addItems, ensureQueue, itemLine } from './import-items.ts';
import sampleJson from './sample-project.json' with { type: 'json' };

const target = { projectId: 'demo/support', queueId: 'support-triage', addedBy: 'sample' };

const sampleObject = z.object({
  kind: z.enum(Object.keys(objectClasses) as (keyof typeof objectClasses)[]),
  object_id: z.string(),
  content: z.unknown(),
});
const sampleSchema = z.object({ field: sampleObject, objects: z.array(sampleObject), items: z.array(itemLine) });

/** Creates the sample project if it is missing: a queue with a field, a dataset, two scorers and a prompt. */
export async function ensureSampleProject(database: Database): Promise<void> {
  const queue = await database.read((transaction) =>
    selectInProject(transaction, 'queues', target.projectId)
      .select('id')
      .where('id', '=', target.queueId)
      .executeTakeFirst(),
  );
  if (queue) return;
  const { field, objects, items } = sampleSchema.parse(sampleJson);
  await database.write(async (transaction) => {
    for (const object of objects) await putObject(transaction, object);
    const { reference } = await putObject(transaction, field);
    await ensureQueue(transaction, target, [reference]);
    await addItems(transaction, items, target);
  });
}

function putObject(transaction: Transaction, { kind, ...object }: z.output<typeof sampleObject>): Promise<VersionId> {
  const owner = { project_id: target.projectId, created_by: target.addedBy };
  return putVersion(transaction, prepareObject(kind, { ...object, ...owner }));
}
