import type { AnnotationState } from '../../contract/queue-items.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { type objectClasses, objectOfKind, putVersion, type VersionId } from '../storage/object-versions.ts';
import { addItems, ensureQueue, type NewItem } from './import-items.ts';

const projectId = 'demo/support';
const queueId = 'support-triage';
const addedBy = 'sample';

/**
 * Creates the sample project if it is missing: a queue with a field, a dataset, two scorers and a prompt. A sample queue of
 * an earlier version, which has no fields, gets its field.
 */
export async function ensureSampleProject(database: Database): Promise<void> {
  const queue = await database.read((transaction) =>
    transaction
      .selectFrom('queues')
      .select('scorer_refs')
      .where('project_id', '=', projectId)
      .where('id', '=', queueId)
      .executeTakeFirst(),
  );
  if (queue && queue.scorer_refs !== '[]') return;
  await database.write(async (transaction) => {
    if (!queue) await createSample(transaction);
    const { reference } = await putSample(transaction, 'field', 'helpful', helpfulField);
    await transaction
      .updateTable('queues')
      .set({ scorer_refs: JSON.stringify([reference]) })
      .where('project_id', '=', projectId)
      .where('id', '=', queueId)
      .execute();
  });
}

async function createSample(transaction: Transaction): Promise<void> {
  const target = { projectId, queueId, addedBy };
  await ensureQueue(transaction, target);
  await addItems(transaction, sampleItems(), target);
  for (const { kind, object_id, content } of sampleObjects) await putSample(transaction, kind, object_id, content);
}

function putSample(
  transaction: Transaction,
  kind: keyof typeof objectClasses,
  object_id: string,
  content: unknown,
): Promise<VersionId> {
  const object = objectOfKind(kind, { project_id: projectId, object_id, content, created_by: addedBy });
  return putVersion(transaction, object);
}

const helpfulField = {
  name: 'helpful',
  description: "Does the answer solve the customer's problem?",
  field_schema: { type: 'boolean' },
};

const sampleObjects = [
  {
    kind: 'prompt',
    object_id: 'triage',
    content: {
      messages: [
        {
          role: 'system',
          content: 'You answer customers of {product}. Be brief, be kind, and say so when you do not know.',
        },
        { role: 'user', content: 'Sort this question into billing, account, bug or how-to: {question}' },
      ],
    },
  },
  {
    kind: 'dataset',
    object_id: 'tickets',
    content: {
      rows: [
        { question: 'Why was I charged twice in March?', label: 'billing' },
        { question: 'How do I move my workspace to another e-mail address?', label: 'account' },
        { question: 'The export button does nothing in Firefox.', label: 'bug' },
        { question: 'Can I schedule a report for Monday mornings?', label: 'how-to' },
      ],
    },
  },
  {
    kind: 'scorer',
    object_id: 'helpfulness',
    content: { description: 'Does the answer solve what the customer asked?', scale: [1, 5] },
  },
  {
    kind: 'scorer',
    object_id: 'tone',
    content: { description: 'Is the answer friendly and to the point?', scale: [1, 5] },
  },
] as const;

/** State, question, answer, and the operation if it is not `support.answer`. */
const conversations: [AnnotationState, string, string, string?][] = [
  [
    'completed',
    'Why was I charged twice in March?',
    'The second charge was a failed retry; it is refunded and will be back within five working days.',
  ],
  [
    'completed',
    'How do I change the e-mail address of my workspace?',
    'Open Settings, then Workspace, then Owner. The new address gets a link to confirm.',
  ],
  ['skipped', 'asdf test please ignore', 'Thanks for your message! Could you tell me what you would like to know?'],
  ['in_progress', 'The export button does nothing in Firefox.', 'Please clear your cookies and try again.'],
  [
    'in_progress',
    'I was promised a call back yesterday and nobody called.',
    'I am sorry. I have passed this on to the team lead, who will call you today before 17:00.',
    'support.escalate',
  ],
  [
    'unstarted',
    'Can I schedule a report for Monday mornings?',
    'Yes: open the report, choose Schedule, and pick Monday and a time.',
  ],
  ['unstarted', 'Is there a discount for schools?', 'Schools pay half. Send us a document that shows you are one.'],
  ['unstarted', '¿Puedo pagar con transferencia bancaria?', 'Sí, para planes anuales. Elija «Transferencia» al pagar.'],
  ['unstarted', 'How long do you keep deleted projects?', 'I think it is around 30 or 60 days, depending on the plan.'],
  [
    'unstarted',
    'Somebody logged in to my account from another country.',
    'I have signed out every session. Please set a new password; security will write to you within the hour.',
    'support.escalate',
  ],
  [
    'unstarted',
    'Does the mobile app work offline?',
    'Reading works offline. Changes are sent when you are connected again.',
  ],
  [
    'unstarted',
    'What is the limit on uploads?',
    'The limit is 2 GB a file. Larger files can be split or shared as a link.',
  ],
];

function sampleItems(): NewItem[] {
  return conversations.map(([annotation_state, question, answer, call_op_name = 'support.answer'], index) => {
    const startedAt = Date.UTC(2026, 0, 12, 9, 0, 0) + index * 17 * 60_000;
    const call_id = `support-${String(index + 1).padStart(4, '0')}`;
    return {
      call_id,
      call_op_name,
      call_trace_id: `trace-${call_id}`,
      call_started_at: new Date(startedAt).toISOString(),
      call_ended_at: new Date(startedAt + 1_800 + index * 130).toISOString(),
      display_fields: ['inputs.question', 'output.answer'],
      annotation_state,
      call: { inputs: { question }, output: { answer } },
    };
  });
}
