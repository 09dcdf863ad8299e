import type { ServiceClient } from '../client/service-client.ts';
import { ifFound } from '../client/with-fallback.ts';
import type { ResultOf } from '../contract/endpoints.ts';
import { entriesNamed, pathSegment } from '../contract/identifiers.ts';
import type { Queue } from '../contract/queues.ts';
import { type ErrorFields, HeddleError } from '../core/errors.ts';
import { otherProjectsWith, requireProject } from '../records/require-project.ts';
import { meantName, nearest, shortName } from '../text/names.ts';

/** Queues among which the nearest are looked for. */
const maxCandidates = 1000;
/** Queues of one name that are named. */
const maxNamed = 5;

/** The error for an id that no queue has. */
export class UnknownQueueError extends HeddleError {
  /** The id of the only queue that has this id as its name. */
  readonly idOfName: string | undefined;

  constructor(message: string, { idOfName, ...hints }: NearestQueues) {
    super({ code: 'not_found', message, ...hints });
    this.idOfName = idOfName;
  }
}

/**
 * Reads a queue.
 * @throws UnknownQueueError whose hint names the nearest queues.
 */
export async function requireQueue(id: string, project: string, service: ServiceClient): Promise<Queue> {
  return (await readQueue(id, project, service)).queue;
}

/** Reads a queue and the numbers of its items, and learns who the account is. @throws HeddleError as {@link requireQueue} does. */
export async function requireQueueWithStats(
  queueId: string,
  project_id: string,
  service: ServiceClient,
): Promise<{ queue: Queue; stats: ResultOf<'queueStats'>['stats'][number] | undefined }> {
  const { queue, stats: ofQueue } = await readQueue(queueId, project_id, service, { include_stats: 'true' });
  const body = { project_id, queue_ids: [queueId], include_own_state: true };
  const stats = ofQueue ?? (await service.call('queueStats', { body })).stats[0];
  service.facts.userId ??= stats?.annotator_user_id;
  return { queue, stats };
}

async function readQueue(
  id: string,
  project: string,
  service: ServiceClient,
  more: { include_stats?: 'true' } = {},
): Promise<ResultOf<'readQueue'>> {
  try {
    return await service.call('readQueue', { path: { queue_id: id }, query: { project_id: project, ...more } });
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== 'not_found') throw error;
    const message = `Project ${project} has no queue with the id ${JSON.stringify(shortName(id))}.`;
    throw new UnknownQueueError(message, await findNearest(id, project, service));
  }
}

/** Returns the queues with a name, whatever its case and the spaces around it, the newest first. */
export async function queuesNamed(name: string, project_id: string, service: ServiceClient): Promise<Queue[]> {
  const found = await service.call('queryQueues', { body: { project_id, name } });
  return found.filter((queue) => queue.name.trim().toLowerCase() === name.toLowerCase());
}

/** Returns the name of a queue for a command, if no other queue has it and it is plain; otherwise its id. */
export async function queueForCommand({ id, name }: Queue, project: string, service: ServiceClient): Promise<string> {
  if (name === id || !/^[\p{L}\p{N}][\p{L}\p{N} _.-]*$/u.test(name)) return id;
  const named = await queuesNamed(name.trim(), project, service).catch(() => []);
  return named.length === 1 ? name : id;
}

/**
 * Returns the id of the queue with an id, or else of the only one with exactly a name or, whatever its case, with the name.
 * @throws HeddleError `not_found` for an unknown queue; its hint asks whether the nearest was meant.
 */
export async function findQueueId(idOrName: string, project: string, service: ServiceClient): Promise<string> {
  const isId = pathSegment.safeParse(idOrName).success;
  if (isId && (await ifFound(requireQueue(idOrName, project, service)))) return idOrName;
  const queues = await service.call('queryQueues', { body: { project_id: project, limit: maxCandidates } });
  const [named, ...others] = entriesNamed(idOrName, queues);
  if (named && others.length === 0) return named.id;
  const meant = named
    ? undefined
    : meantName(
        idOrName,
        queues.flatMap(({ id, name }) => [name, id]),
      );
  const elsewhere = named ? undefined : await findElsewhere(idOrName, project, service);
  throw new HeddleError({
    code: 'not_found',
    message: named
      ? `Project ${project} has ${others.length + 1} queues named ${JSON.stringify(shortName(idOrName))}.`
      : `Project ${project} has no queue ${JSON.stringify(shortName(idOrName))}.`,
    ...(elsewhere ??
      (meant
        ? { hint: `Did you mean ${JSON.stringify(shortName(meant))}?` }
        : await findNearest(idOrName, project, service))),
  });
}

/** Returns a hint that names the queues whose id or name is nearest, since a name is easily taken for an id. */
export async function nearestQueues(id: string, project_id: string, service: ServiceClient): Promise<string> {
  return (await findNearest(id, project_id, service)).hint;
}

interface NearestQueues extends Pick<ErrorFields, 'hint' | 'terminalHint'> {
  /** The id of the only queue that has the given id as its name. */
  idOfName?: string | undefined;
}

async function findNearest(id: string, project_id: string, service: ServiceClient): Promise<NearestQueues> {
  const queues = await service
    .call('queryQueues', { body: { project_id, limit: maxCandidates } })
    .catch(() => undefined);
  if (!queues) return { hint: 'Call list_queues for the ids.' };
  const named = entriesNamed(id, queues);
  if (named.length > 0) {
    const ids = named.slice(0, maxNamed).map((queue) => shortName(queue.id));
    return {
      hint: `That is the name of the queue with the id ${ids.join(', and of ')}: pass the id.`,
      ...(named.length === 1 && { idOfName: named[0]!.id }),
    };
  }
  const elsewhere = await findElsewhere(id, project_id, service);
  if (elsewhere) return elsewhere;
  if (queues.length === 0) {
    await requireProject(project_id, service);
    return {
      hint: 'The project has no queues. Check project_id.',
      terminalHint: `Project ${project_id} has no queues. Check --project.`,
    };
  }
  const names = nearest(id, queues, (queue) => [queue.id, queue.name]).map((queue) =>
    queue.name === queue.id ? shortName(queue.id) : `${shortName(queue.id)} (${JSON.stringify(shortName(queue.name))})`,
  );
  return { hint: `The nearest ids are ${names.join(', ')}. Call list_queues for all of them.` };
}

/** Returns a hint that names another project with a queue of this id or name, at a service that lists projects. */
async function findElsewhere(
  idOrName: string,
  project: string,
  service: ServiceClient,
): Promise<NearestQueues | undefined> {
  const [other] = await otherProjectsWith(project, service, async (project_id) => {
    const queues = await service.call('queryQueues', { body: { project_id, limit: maxCandidates } });
    return queues.some(({ id }) => id === idOrName) || entriesNamed(idOrName, queues).length > 0;
  });
  if (other === undefined) return undefined;
  const found = `Project ${other} has a queue of this name`;
  return { hint: `${found}: pass it as project_id.`, terminalHint: `${found}: add --project ${other}.` };
}
