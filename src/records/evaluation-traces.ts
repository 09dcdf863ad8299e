import type { ServiceClient } from '../client/service-client.ts';

/** Name of the operation with which heddle, the service and SDKs record a run of an evaluation. */
const runOperation = 'Evaluation.evaluate';

/** Runs whose calls are left out; a service limits the operands of a condition. */
const maxRuns = 900;

/** Returns the operations of runs, for the filter of a request, whether they were recorded as a name or as a reference. */
export function runOperationsOf(project: string): string[] {
  return [runOperation, `weave:///${project}/op/${runOperation}:*`];
}

/** Reads the traces of the newest runs of evaluations, to which all calls belong that the runs made. */
export async function evaluationTraces(
  project_id: string,
  service: ServiceClient,
): Promise<{ traces: string[]; warning?: string }> {
  const runs = await service.call('queryCalls', {
    body: {
      project_id,
      filter: { op_names: runOperationsOf(project_id) },
      sort_by: [{ field: 'started_at', direction: 'desc' }],
      columns: ['trace_id'],
      limit: maxRuns + 1,
    },
  });
  const traces = [...new Set(runs.slice(0, maxRuns).flatMap(({ trace_id }) => trace_id ?? []))];
  if (runs.length <= maxRuns) return { traces };
  return { traces, warning: `Only the calls of the newest ${maxRuns} runs of evaluations were left out.` };
}
