import { type ReadResourceResult, ResourceNotFoundError, UriTemplate } from '@modelcontextprotocol/server';
import type { ServiceClient } from '../client/service-client.ts';
import { pathSegment } from '../contract/identifiers.ts';
import { HeddleError } from '../core/errors.ts';
import type { Completable } from './prompts.ts';

type Variables = Record<string, string>;

interface Template {
  name: string;
  title: string;
  description: string;
  uri: UriTemplate;
  completes: Record<string, Completable>;
  read: (variables: Variables, service: ServiceClient, signal: AbortSignal) => Promise<unknown>;
}

/** What a person can attach to a conversation: a queue with its counts, and a recorded call. */
const templates: readonly Template[] = [
  {
    name: 'queue',
    title: 'Annotation queue',
    description: 'A queue with its counts of items, as JSON',
    uri: new UriTemplate('heddle://{entity}/{project}/queues/{queue_id}'),
    completes: { queue_id: 'queue' },
    async read({ entity, project, queue_id }, service, signal) {
      const project_id = `${entity}/${project}`;
      const [{ queue }, { stats }] = await Promise.all([
        service.readQueue(queue_id!, project_id, { signal }),
        service.queueStats({ project_id, queue_ids: [queue_id!] }, { signal }),
      ]);
      return { ...queue, ...stats[0] };
    },
  },
  {
    name: 'call',
    title: 'Recorded call',
    description: 'A recorded call: inputs, output and how it ended, as JSON',
    uri: new UriTemplate('heddle://{entity}/{project}/calls/{call_id}'),
    completes: {},
    async read({ entity, project, call_id }, service, signal) {
      return (
        (await service.readCall({ project_id: `${entity}/${project}`, id: call_id! }, { signal })).call ?? undefined
      );
    },
  },
];

/** The templates as clients list them. */
export const listedTemplates = templates.map(({ name, title, description, uri }) => ({
  name,
  title,
  description,
  uriTemplate: uri.toString(),
  mimeType: 'application/json',
}));

/** What a variable of a template can be completed from. */
export function completesFrom(uriTemplate: string, variable: string): Completable | undefined {
  return templates.find(({ uri }) => uri.toString() === uriTemplate)?.completes[variable];
}

/**
 * Reads a resource.
 * @throws ResourceNotFoundError when the address has another form, or there is nothing at it.
 */
export async function readResource(
  address: string,
  service: ServiceClient,
  signal: AbortSignal,
): Promise<ReadResourceResult> {
  for (const { uri, read } of templates) {
    const variables = variablesOf(uri, address);
    if (!variables) continue;
    const value = await read(variables, service, signal).catch((error: unknown) => {
      if (error instanceof HeddleError && error.code === 'not_found') return undefined;
      throw error;
    });
    if (value === undefined) break;
    return { contents: [{ uri: address, mimeType: 'application/json', text: JSON.stringify(value) }] };
  }
  throw new ResourceNotFoundError(address);
}

function variablesOf(template: UriTemplate, address: string): Variables | undefined {
  try {
    const found = Object.entries(template.match(address) ?? {}).map(([name, text]) => [
      name,
      decodeURIComponent(String(text)),
    ]);
    const usable = found.length > 0 && found.every(([, text]) => pathSegment.safeParse(text).success);
    return usable ? Object.fromEntries(found) : undefined;
  } catch {
    // A per cent sign that encodes nothing.
    return undefined;
  }
}
