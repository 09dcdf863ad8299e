import type { ServiceClient } from '../client/service-client.ts';
import type { CallsFilter, RecordedCall } from '../contract/calls.ts';
import type { EvaluationRun } from '../contract/evaluation-runs.ts';
import { objectOrEmpty } from '../core/json/json-object.ts';
import { runOperationsOf } from '../records/evaluation-traces.ts';

/**
 * Adds the runs that SDKs recorded to those that a service lists: the public service lists only runs that were made by POST.
 * @param filter selects the recorded calls of the runs.
 */
export async function withSdkRuns(
  listed: readonly EvaluationRun[],
  filter: CallsFilter,
  { project, limit, service }: { project: string; limit: number; service: ServiceClient },
): Promise<EvaluationRun[]> {
  const calls = await service.call('queryCalls', {
    body: {
      project_id: project,
      filter: { ...filter, op_names: runOperationsOf(project) },
      sort_by: [{ field: 'started_at', direction: 'desc' }],
      columns: ['inputs', 'summary', 'started_at', 'ended_at', 'exception'],
      limit,
    },
  });
  const known = new Set(listed.map(({ evaluation_run_id }) => evaluation_run_id));
  return [...listed, ...calls.filter(({ id }) => !known.has(id)).map(toRun)];
}

function toRun({ id, inputs, summary, started_at, ended_at, exception }: RecordedCall): EvaluationRun {
  const { self, this: selfOfNpm, model } = objectOrEmpty(inputs);
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  const status = exception ? 'error' : ended_at ? 'completed' : 'running';
  return {
    evaluation_run_id: id,
    evaluation: text(self) ?? text(selfOfNpm),
    model: text(model),
    status,
    started_at: started_at ?? null,
    finished_at: ended_at ?? null,
    summary: objectOrEmpty(summary),
  };
}
