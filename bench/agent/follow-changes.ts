import * as z from 'zod';
import { annotationFeedbackType, goldFeedbackType } from '../../src/contract/feedback.ts';
import { splitProjectId } from '../../src/contract/identifiers.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { Client } from '../../src/library.ts';
import { project, userAccount, type Workspace } from './workspace.ts';

const noteType = 'wandb.note.1';

const annotationSpec = z.looseObject({ name: z.string(), field_schema: z.unknown() });

/** What is stored, by what it is: `complaint-05 severity by ana` is `4`. */
type State = Map<string, string>;

/** Names by the ids of queues. */
type Labels = Map<string, string>;

/** Returns a reference without its digest and project: the name of the object. */
const nameIn = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1).split(':')[0]!;

async function addQueues(client: Client, labels: Labels, state: State): Promise<void> {
  for (const { id, name, description, scorer_refs } of await client.call('queryQueues', {
    body: { project_id: project },
  })) {
    if (!labels.has(id)) labels.set(id, name);
    const queue = `queue ${labels.get(id)}`;
    state.set(queue, name);
    if (description) state.set(`${queue} guidelines`, description);
    const { vals } = await client.call('readReferences', { body: { refs: scorer_refs ?? [] } });
    for (const val of vals) {
      const { name: field, field_schema } = annotationSpec.parse(val);
      state.set(`${queue} field ${field}`, canonicalJson(field_schema));
    }
    const { items } = await client.call('queryQueueItems', {
      path: { queue_id: id },
      body: { project_id: project, limit: 1000 },
    });
    for (const { call_id, annotation_state } of items) state.set(`${queue} item ${call_id}`, annotation_state);
  }
}

async function addFeedback(client: Client, state: State): Promise<void> {
  const { result } = await client.call('queryFeedback', { body: { project_id: project, limit: 10_000 } });
  const oldestFirst = result.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1));
  const [judgement, gold] = [annotationFeedbackType(''), goldFeedbackType('')];
  for (const { weave_ref, feedback_type: type, payload, wb_user_id, creator } of oldestFirst) {
    const call = nameIn(weave_ref);
    const isByModel = wb_user_id === userAccount && creator && creator !== userAccount;
    const by = isByModel ? 'model' : wb_user_id;
    if (type === noteType) state.set(`${call} note by ${by}`, String(payload?.note));
    else if (type.startsWith(judgement)) {
      state.set(`${call} ${type.slice(judgement.length)} by ${by}`, JSON.stringify(payload?.value));
    } else if (type.startsWith(gold)) {
      state.set(`${call} gold ${type.slice(gold.length)}`, JSON.stringify(payload?.value));
    }
  }
}

/** Kinds of objects that jobs make. */
const kinds = ['Dataset', 'Evaluation', 'Scorer', 'Prompt'];

async function readState(workspace: Workspace, labels: Labels): Promise<State> {
  const client = await workspace.client();
  const state: State = new Map();
  await addQueues(client, labels, state);
  await addFeedback(client, state);
  const { objs } = await client.call('queryObjects', {
    body: { project_id: project, filter: { base_object_classes: kinds, latest_only: true } },
  });
  for (const { base_object_class, object_id, digest } of objs) state.set(`${base_object_class} ${object_id}`, digest);
  const { count } = await client.call('countCalls', {
    body: { project_id: project, query: { $expr: { $eq: [{ $getField: 'parent_id' }, { $literal: null }] } } },
  });
  state.set('calls without a parent', String(count));
  for (const run of await client.call('listEvaluationRuns', { path: splitProjectId(project), query: {} })) {
    state.set(`run ${run.evaluation_run_id}`, `${nameIn(run.evaluation ?? '')} ${run.status}`);
  }
  return state;
}

/** Follows what the model changes. */
export interface Changes {
  /** Returns the changes since, like `complaint-05 severity by model: – → 4`; what is not there is `–`. */
  read: () => Promise<string[]>;
  /** Returns a fault for each change that should not be there, and for each that is missing. */
  faultsOf: (expected: readonly string[]) => Promise<string[]>;
}

/** Compares with the state at this moment. */
export async function followChanges(workspace: Workspace): Promise<Changes> {
  const labels: Labels = new Map();
  const before = await readState(workspace, labels);
  const read = async () => {
    const after = await readState(workspace, labels);
    return [...new Set([...before.keys(), ...after.keys()])]
      .filter((key) => before.get(key) !== after.get(key))
      .map((key) => `${key}: ${before.get(key) ?? '–'} → ${after.get(key) ?? '–'}`);
  };
  return {
    read,
    faultsOf: async (expected) => {
      const found = await read();
      return [
        ...expected.filter((change) => !found.includes(change)).map((change) => `missing: ${change}`),
        ...found.filter((change) => !expected.includes(change)).map((change) => `too many: ${change}`),
      ];
    },
  };
}
