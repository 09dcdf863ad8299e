import * as z from 'zod';
import { callsFilter, expressionQuery, timestamp } from './calls.ts';
import { endpoint, projectInBody } from './endpoint.ts';
import { projectId } from './identifiers.ts';

const flag = z.boolean().nullish();
const bytes = z.int().nullish();

/** The use of a model: numbers of requests and tokens, and their cost if that was asked for and prices are known. */
const modelUsage = z.looseObject({
  requests: z.number(),
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  total_tokens: z.number(),
  prompt_tokens_total_cost: z.number().nullish(),
  completion_tokens_total_cost: z.number().nullish(),
});
export type ModelUsage = z.infer<typeof modelUsage>;

/** By call, then by model; each with the calls that it made. */
const usageResponse = z.looseObject({
  call_usage: z.record(z.string(), z.record(z.string(), modelUsage)),
  unfinished_call_ids: z.array(z.string()).describe('Calls that have not ended, whose usage may grow.'),
});

/** The totals of the calls of one operation, whatever its version. */
const operationTotals = z.looseObject({
  operation: z.string(),
  calls: z.int(),
  errors: z.int().optional().describe('Calls that failed.'),
  tokens: z.number().optional().describe('Absent if none of the calls tells.'),
  cost: z.number().optional().describe('USD, as far as prices are stored.'),
  latency_seconds: z.number().optional().describe('Mean of the calls that have ended.'),
  p95_latency_seconds: z.number().optional(),
});

const aggregations = z
  .array(z.enum(['sum', 'avg', 'min', 'max']))
  .max(4)
  .describe('sum, avg, min or max.');

/** Figures of one span of time: `timestamp`, `count`, and a member such as `sum_total_tokens` for each aggregation. */
const bucket = z.looseObject({ timestamp: z.string(), count: z.int() });
export type StatsBucket = z.infer<typeof bucket>;

/** Maximum number of calls that one request adds up by operation, which takes about a second. */
export const maxTotalledCalls = 25_000;

/** The operations that add up what recorded calls used, and how much is stored. */
export const usageEndpoints = {
  callsUsage: endpoint({
    summary: 'Add up the usage of recorded calls and of those that they made',
    path: '/calls/usage',
    projects: projectInBody,
    request: z.object({ project_id: projectId, call_ids: z.array(z.string()).max(1000), include_costs: flag }),
    response: usageResponse,
  }),
  traceUsage: endpoint({
    summary: 'Add up the usage of each recorded call of traces',
    path: '/trace/usage',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      filter: callsFilter.nullish(),
      query: expressionQuery.nullish(),
      include_costs: flag,
    }),
    response: usageResponse,
  }),
  callsStats: endpoint({
    summary: 'Add up recorded calls and their usage by time',
    path: '/calls/stats',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      start: timestamp,
      end: timestamp.nullish().describe('Now by default.'),
      granularity: z.int().min(1).nullish().describe('Seconds of each span of time; 3600 by default.'),
      filter: callsFilter.nullish(),
      usage_metrics: z
        .array(z.object({ metric: z.enum(['input_tokens', 'output_tokens', 'total_tokens']), aggregations }))
        .max(10)
        .nullish()
        .describe('Figures by model.'),
      call_metrics: z
        .array(z.object({ metric: z.enum(['call_count', 'error_count', 'latency_ms']), aggregations }))
        .max(10)
        .nullish(),
    }),
    response: z.looseObject({
      start: z.string(),
      end: z.string(),
      granularity: z.int(),
      timezone: z.string(),
      usage_buckets: z.array(bucket),
      call_buckets: z.array(bucket),
    }),
  }),
  callTotals: endpoint({
    summary: 'Add up recorded calls and their usage by operation',
    description:
      'An extension of the embedded service. Adds up the newest calls, up to limit. What a call used is without what the calls used that it made and that match too.',
    path: '/calls/totals',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      filter: callsFilter.nullish(),
      query: expressionQuery.nullish(),
      limit: z
        .int()
        .min(1)
        .max(maxTotalledCalls)
        .nullish()
        .describe(`Maximum number of calls; ${maxTotalledCalls} by default.`),
    }),
    response: z.looseObject({
      count: z.int().describe('Number of calls that were added up.'),
      has_more: z.boolean().describe('True if older calls match too.'),
      operations: z.array(operationTotals).describe('Those with the most calls first.'),
      unpriced_models: z.array(z.string()).describe('Models for which no price is stored, up to a limit.'),
    }),
  }),
  projectStats: endpoint({
    summary: 'Measure what a project stores',
    path: '/project/stats',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      include_trace_storage_size: flag,
      include_object_storage_size: flag,
      include_table_storage_size: flag,
      include_file_storage_size: flag,
    }),
    response: z.looseObject({
      trace_storage_size_bytes: bytes,
      objects_storage_size_bytes: bytes,
      tables_storage_size_bytes: bytes,
      files_storage_size_bytes: bytes,
    }),
  }),
  filesStats: endpoint({
    summary: 'Measure the files of a project',
    path: '/files/stats',
    projects: projectInBody,
    request: z.object({ project_id: projectId }),
    response: z.looseObject({ total_size_bytes: z.int() }),
  }),
};
