import { createHash } from 'node:crypto';
import { canonicalJson } from '../core/json/canonical-json.ts';
import type { Judge } from '../records/call-context.ts';
import type { Judgement } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';

/** Returns the name under which this client judges; undefined for the user, whose account says enough. */
export function creatorOf({ clientName, byUser }: Judge): string | undefined {
  if (byUser) return undefined;
  return clientName === undefined ? 'heddle' : `${clientName.slice(0, 100)} via heddle`;
}

/** Returns whether a name of an annotator means the caller. */
export function meansCaller(name: string | undefined): boolean {
  return name?.trim().toLowerCase() === 'me';
}

/** Returns whether feedback was given by this client, or by the user, for this account; false until the account is known. */
export function isOwn({ user, creator }: Pick<Judgement, 'user' | 'creator'>, queue: QueueAccess): boolean {
  if (user !== queue.service.facts.userId) return false;
  // Some clients name the account as the creator of what its user judges.
  return creator === creatorOf(queue) || (queue.byUser === true && creator === user);
}

/**
 * Returns the id of a judgement. It is derived from the account, the content and the account's judgement before: the same
 * request again finds the existing feedback, and a value that comes back later is a judgement of its own.
 */
export function judgementId(
  { call_id, field, value }: Pick<Judgement, 'call_id' | 'field' | 'value'>,
  beforeId: string | undefined,
  tag: string,
  queue: QueueAccess,
): string {
  return contentId([tag, creatorOf(queue), queue.id, call_id, field, value, beforeId]);
}

/**
 * Learns the name that the service gives this account, from a judgement whose id only this account can have made. A
 * service tells the name with every stored judgement, but a new process has stored none yet.
 */
export async function learnAccount(judgements: readonly Judgement[], queue: QueueAccess): Promise<void> {
  const { facts } = queue.service;
  if (facts.userId !== undefined) return;
  const tag = await queue.service.accountTag();
  const ids = new Map<string, string>();
  for (const judgement of judgements) {
    if (facts.userId !== undefined) return;
    if (judgement.creator !== creatorOf(queue)) continue;
    const { call_id, field, user, id } = judgement;
    const chain = JSON.stringify([call_id, field, user]);
    if (id === judgementId(judgement, ids.get(chain), tag, queue)) facts.userId = user;
    ids.set(chain, id);
  }
}

/** Returns a UUID (version 8) that is the same for the same content. */
export function contentId(content: unknown): string {
  const hex = createHash('sha256').update(canonicalJson(content)).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Returns whether two values are the same JSON, whatever the order of their members. */
export function isSame(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}
