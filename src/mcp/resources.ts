import {
  type ReadResourceResult,
  type Resource,
  type ResourceLink,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { ServiceClient } from '../client/service-client.ts';
import { ifFound } from '../client/with-fallback.ts';
import { pathSegment, projectId } from '../contract/identifiers.ts';
import { isPlainSegment } from '../contract/path-segments.ts';
import { HeddleError, undefinedOnError } from '../core/errors.ts';
import { findQueueId } from '../queues/require-queue.ts';
import { cutValue } from '../text/call-values.ts';
import { judgementsFile } from '../tools/definition/terminal-command.ts';
import { type QueueName, queueArgument } from '../tools/definition/tool.ts';
import type { CompletionKind } from './completions.ts';

const csvType = 'text/csv';

/** Resources that a user can attach to a conversation, in the form of `resources/templates/list`. */
export const listedTemplates = [
  {
    name: 'queue',
    title: 'Annotation queue',
    description: 'A queue with its item counts, as JSON',
    uriTemplate: 'heddle://{entity}/{project}/queues/{queue_id}',
    mimeType: 'application/json',
  },
  {
    name: 'judgements',
    title: 'Judgements of a queue',
    description: 'The judgements and notes of a queue, the latest of each annotator, as CSV',
    uriTemplate: 'heddle://{entity}/{project}/queues/{queue_id}/judgements.csv',
    mimeType: csvType,
  },
  {
    name: 'run',
    title: 'Run of an evaluation',
    description: 'How far a run is or how it ended, with its scores, as JSON',
    uriTemplate: 'heddle://{entity}/{project}/runs/{run_id}',
    mimeType: 'application/json',
  },
  {
    name: 'call',
    title: 'Recorded call',
    description: 'A recorded call with its inputs, output and outcome, as JSON',
    uriTemplate: 'heddle://{entity}/{project}/calls/{call_id}',
    mimeType: 'application/json',
  },
];

/** Queues that are listed as resources; clients find the others through the template and its completion. */
const maxListedQueues = 20;
/** Time for the service to list them: clients ask when they connect, and must not wait long. */
const listTimeoutMs = 5_000;
const maxDescriptionChars = 200;

/** Returns the newest queues of a project in the form of `resources/list`, so that a person can pick one. */
export async function listQueueResources(
  project: string,
  service: ServiceClient,
  signal: AbortSignal,
): Promise<Resource[]> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(listTimeoutMs)]);
  const queues = await service.call(
    'queryQueues',
    { body: { project_id: project, limit: maxListedQueues } },
    { signal: limited },
  );
  return queues.slice(0, maxListedQueues).map(({ id, name, description }) => ({
    uri: queueAddress({ project, id }),
    name: id,
    title: name,
    description: String(cutValue(description || `Annotation queue of ${project}`, maxDescriptionChars)),
    mimeType: 'application/json',
  }));
}

function queueAddress({ project, id }: QueueName): string {
  const path = project.split('/').map(encodeURIComponent).join('/');
  return `heddle://${path}/queues/${encodeURIComponent(id)}`;
}

/** Returns a link to the judgements of a queue as CSV. */
export function judgementsLink(queue: QueueName): ResourceLink {
  const uri = `${queueAddress(queue)}/judgements.csv`;
  return {
    type: 'resource_link',
    uri,
    name: judgementsFile(queue.id),
    title: 'Judgements of the queue',
    mimeType: csvType,
  };
}

/** Returns the kind of values that completes a variable of a template. */
export function completionOfVariable(uriTemplate: string, variable: string): CompletionKind | undefined {
  return uriTemplate.includes(`/queues/{${variable}}`) ? 'queue' : undefined;
}

/**
 * Reads a resource from the service; a queue also by its name.
 * @param exportCommand returns the command with which a person saves the judgements of a queue.
 * @throws ResourceNotFoundError when no template matches the address or the service has nothing there.
 */
export async function readResource(
  address: string,
  service: ServiceClient,
  exportCommand: (queue: QueueName) => string,
): Promise<ReadResourceResult> {
  const [project, kind, id, part] = parseAddress(address);
  const read = part ? readJudgements : readers[kind];
  const readById = (known: string) => ifFound(read(project, known, service, exportCommand));
  let text = isPlainSegment(id) ? await readById(id) : undefined;
  if (text === undefined && kind === 'queues') {
    const named = await ifFound(findQueueId(id, project, service));
    if (named !== undefined) text = await readById(named);
  }
  if (text === undefined) throw new ResourceNotFoundError(address);
  return { contents: [{ uri: address, mimeType: part ? csvType : 'application/json', text }] };
}

/** Maximum number of characters of an export; the command saves any number. */
const maxExportChars = 8 * 1024 * 1024;

async function readJudgements(
  project: string,
  id: string,
  service: ServiceClient,
  exportCommand: (queue: QueueName) => string,
): Promise<string> {
  const { exportedJudgements } = await import('../queues/exported-judgements.ts');
  let text = '';
  for await (const part of exportedJudgements({ project, id, service }, { format: 'csv', values: true })) {
    text += part.text;
    if (text.length <= maxExportChars) continue;
    throw new HeddleError({
      code: 'too_large',
      message: `The judgements of queue ${id} take more than ${maxExportChars} characters.`,
      hint: `The user can run ${exportCommand({ project, id })}.`,
    });
  }
  return text;
}

async function readQueue(project_id: string, queue_id: string, service: ServiceClient) {
  const [{ queue }, { stats }] = await Promise.all([
    service.call('readQueue', { path: { queue_id }, query: { project_id } }),
    service.call('queueStats', { body: { project_id, queue_ids: [queue_id] } }),
  ]);
  return JSON.stringify({ ...queue, ...stats[0] });
}

async function readCall(project_id: string, id: string, service: ServiceClient) {
  const { call } = await service.call('readCall', { body: { project_id, id } });
  return call ? JSON.stringify(call) : undefined;
}

async function readRun(project_id: string, call_id: string, service: ServiceClient) {
  const { status } = await service.call('evaluationStatus', { body: { project_id, call_id } });
  return status.code === 'not_found' ? undefined : JSON.stringify({ run_id: call_id, ...status });
}

const readers = { queues: readQueue, calls: readCall, runs: readRun };

/** Returns whether a client can listen to the resource at an address: to queues, their judgements, and runs. */
export function isWatchable(address: string): boolean {
  const { data } = addressParts.safeParse(splitAddress(address));
  return data !== undefined && data[1] !== 'calls';
}

/** Returns the address of a resource with the id of its queue, if it has the name of one; else the same address. */
export async function addressById(address: string, service: ServiceClient): Promise<string> {
  const [project, kind, id] = parseAddress(address);
  if (kind !== 'queues') return address;
  const found = await ifFound(findQueueId(id, project, service));
  return found === undefined ? address : queueAddress({ project, id: found });
}

/**
 * Returns a text that differs after a change of a resource: of the queue, its counts or its judgements, or of the run.
 * @throws HeddleError as the service fails; what does not exist has a version too.
 */
export async function resourceVersion(address: string, service: ServiceClient): Promise<string> {
  const [project, kind, id] = parseAddress(address);
  const isInQueue = { $eq: [{ $getField: 'queue_id' }, { $literal: id }] };
  const newest = {
    project_id: project,
    query: { $expr: isInQueue },
    fields: ['id', 'weave_ref', 'feedback_type', 'created_at'],
    sort_by: [{ field: 'created_at', direction: 'desc' as const }],
    limit: 1,
  };
  const parts = await Promise.all([
    ifFound(readers[kind](project, id, service)),
    kind === 'queues' && service.call('queryFeedback', { body: newest }),
  ]);
  return JSON.stringify(parts);
}

const addressParts = z.union([
  z.tuple([projectId, z.literal('queues'), queueArgument, z.literal('judgements.csv')]),
  z.tuple([projectId, z.literal('queues'), queueArgument, z.undefined()]),
  z.tuple([projectId, z.enum(['calls', 'runs']), pathSegment, z.undefined()]),
]);

function parseAddress(address: string): z.output<typeof addressParts> {
  const { data } = addressParts.safeParse(splitAddress(address));
  if (!data) throw new ResourceNotFoundError(address);
  return data;
}

/** Returns the parts of an address; undefined if it has another form. */
function splitAddress(address: string): (string | undefined)[] | undefined {
  const parts = /^heddle:\/\/([^/]+\/[^/]+)\/(\w+)\/([^/]+)(?:\/([^/]+))?$/.exec(address)?.slice(1);
  // An escape may be malformed.
  return undefinedOnError(() => parts?.map((part) => part && decodeURIComponent(part)));
}
