import * as z from 'zod';
import type { Database } from '../storage/database.ts';
import { putVersion } from '../storage/object-versions.ts';
import { objectKinds } from '../storage/tables.ts';
import { addItems, ensureQueue, itemLine } from './import-items.ts';
import sampleJson from './sample-project.json' with { type: 'json' };

const sampleSchema = z.object({
  objects: z.array(z.object({ kind: z.enum(objectKinds), object_id: z.string(), content: z.unknown() })),
  items: z.array(itemLine),
});

/** Creates the sample project if it is missing: a queue, a dataset, two scorers and a prompt. */
export async function ensureSampleProject(database: Database): Promise<void> {
  const target = { projectId: 'demo/support', queueId: 'support-triage', addedBy: 'sample' };
  const present = await database.read((transaction) =>
    transaction
      .selectFrom('queues')
      .select('id')
      .where('project_id', '=', target.projectId)
      .where('id', '=', target.queueId)
      .executeTakeFirst(),
  );
  if (present) return;
  const { objects, items } = sampleSchema.parse(sampleJson);
  await database.write(async (transaction) => {
    await ensureQueue(transaction, target);
    await addItems(transaction, items, target);
    for (const object of objects) {
      await putVersion(transaction, { ...object, project_id: target.projectId, created_by: target.addedBy });
    }
  });
}
