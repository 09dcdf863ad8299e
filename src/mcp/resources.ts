import { type ReadResourceResult, ResourceNotFoundError, UriTemplate } from '@modelcontextprotocol/server';
import type { ServiceClient } from '../client/service-client.ts';
import { pathSegment } from '../contract/identifiers.ts';
import { HeddleError } from '../core/errors.ts';
import type { CompletionKind } from './completions.ts';

type Variables = Record<string, string>;

interface ResourceTemplate {
  name: string;
  title: string;
  description: string;
  uri: UriTemplate;
  completions: Record<string, CompletionKind>;
  read: (variables: Variables, service: ServiceClient, signal: AbortSignal) => Promise<unknown>;
}

/** Resources that a user can attach to a conversation. */
const templates: readonly ResourceTemplate[] = [
  {
    name: 'queue',
    title: 'Annotation queue',
    description: 'A queue with its item counts, as JSON',
    uri: new UriTemplate('heddle://{entity}/{project}/queues/{queue_id}'),
    completions: { queue_id: 'queue' },
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
    description: 'A recorded call with its inputs, output and outcome, as JSON',
    uri: new UriTemplate('heddle://{entity}/{project}/calls/{call_id}'),
    completions: {},
    async read({ entity, project, call_id }, service, signal) {
      const { call } = await service.readCall({ project_id: `${entity}/${project}`, id: call_id! }, { signal });
      return call ?? undefined;
    },
  },
];

/** The templates in the form of `resources/templates/list`. */
export const listedTemplates = templates.map(({ name, title, description, uri }) => ({
  name,
  title,
  description,
  uriTemplate: uri.toString(),
  mimeType: 'application/json',
}));

/** Returns the kind of values that completes a variable of a template. */
export function completionOfVariable(uriTemplate: string, variable: string): CompletionKind | undefined {
  return templates.find(({ uri }) => uri.toString() === uriTemplate)?.completions[variable];
}

/**
 * Reads a resource from the service.
 * @throws ResourceNotFoundError when no template matches the address or the service has nothing there.
 */
export async function readResource(
  address: string,
  service: ServiceClient,
  signal: AbortSignal,
): Promise<ReadResourceResult> {
  for (const { uri, read } of templates) {
    const variables = matchVariables(uri, address);
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

function matchVariables(template: UriTemplate, address: string): Variables | undefined {
  try {
    const matched = Object.entries(template.match(address) ?? {});
    const variables = matched.map(([name, text]) => [name, decodeURIComponent(String(text))]);
    const valid = variables.length > 0 && variables.every(([, text]) => pathSegment.safeParse(text).success);
    return valid ? Object.fromEntries(variables) : undefined;
  } catch {
    // decodeURIComponent throws for a malformed escape.
    return undefined;
  }
}
