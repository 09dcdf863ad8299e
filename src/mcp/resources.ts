import { type ReadResourceResult, type Resource, ResourceNotFoundError } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { ServiceClient } from '../client/service-client.ts';
import { pathSegment, projectId } from '../contract/identifiers.ts';
import { HeddleError } from '../core/errors.ts';
import { cutValue } from '../text/call-values.ts';
import type { CompletionKind } from './completions.ts';

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
  const path = project.split('/').map(encodeURIComponent).join('/');
  return queues.slice(0, maxListedQueues).map(({ id, name, description }) => ({
    uri: `heddle://${path}/queues/${encodeURIComponent(id)}`,
    name: id,
    title: name,
    description: String(cutValue(description || `Annotation queue of ${project}`, maxDescriptionChars)),
    mimeType: 'application/json',
  }));
}

/** Returns the kind of values that completes a variable of a template. */
export function completionOfVariable(uriTemplate: string, variable: string): CompletionKind | undefined {
  return uriTemplate.includes(`/queues/{${variable}}`) ? 'queue' : undefined;
}

/**
 * Reads a resource from the service.
 * @throws ResourceNotFoundError when no template matches the address or the service has nothing there.
 */
export async function readResource(address: string, service: ServiceClient): Promise<ReadResourceResult> {
  const [project_id, kind, id] = parseAddress(address);
  const read = kind === 'queues' ? readQueue : readCall;
  const value = await read(project_id, id, service).catch((error: unknown) => {
    if (error instanceof HeddleError && error.code === 'not_found') return undefined;
    throw error;
  });
  if (!value) throw new ResourceNotFoundError(address);
  return { contents: [{ uri: address, mimeType: 'application/json', text: JSON.stringify(value) }] };
}

async function readQueue(project_id: string, queue_id: string, service: ServiceClient) {
  const [{ queue }, { stats }] = await Promise.all([
    service.call('readQueue', { path: { queue_id }, query: { project_id } }),
    service.call('queueStats', { body: { project_id, queue_ids: [queue_id] } }),
  ]);
  return { ...queue, ...stats[0] };
}

async function readCall(project_id: string, id: string, service: ServiceClient) {
  return (await service.call('readCall', { body: { project_id, id } })).call;
}

const addressParts = z.tuple([projectId, z.enum(['queues', 'calls']), pathSegment]);

function parseAddress(address: string): z.output<typeof addressParts> {
  const parts = /^heddle:\/\/([^/]+\/[^/]+)\/(\w+)\/([^/]+)$/.exec(address)?.slice(1);
  try {
    return addressParts.parse(parts?.map((part) => decodeURIComponent(part)));
  } catch {
    // decodeURIComponent throws for a malformed escape.
    throw new ResourceNotFoundError(address);
  }
}
