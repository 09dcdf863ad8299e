import type { StoredFeedback } from '../contract/feedback.ts';
import { majorityOf } from './dataset-rows.ts';
import { byCall, goldOf, type Judgement, judgementsOf, latestJudgements } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';
import { requireAnnotators } from './require-annotators.ts';

/** The value that people gave a field of a recorded call. */
export interface PeoplesValue {
  value: unknown;
  /** Number of people who gave it; gold counts as one. */
  support: number;
  /** Version of the guidelines that it followed, if that is known and the same for all of them. */
  guidelines: string | undefined;
}

/** Returns whether a judgement is by a person, not by an agent that judges for an account. */
export function isByPerson({ user, creator }: Pick<Judgement, 'user' | 'creator'>): boolean {
  return creator === undefined || creator === user;
}

const noPerson = {
  fault: 'Opinions of agents do not count, and no person has judged the field as',
  nobody: 'No person has judged the field at all.',
};

/**
 * Returns the value that people gave a field, by the ids of the calls. Opinions of agents do not count.
 * @param expected `majority` for what gold or else most people say, `gold`, or the name of a person.
 * @returns also the number of calls of which people say too different things for a value.
 * @throws HeddleError `invalid_arguments` for a name by which no person judged the field.
 */
export function peoplesValues(
  feedback: readonly StoredFeedback[],
  field: string,
  expected: string,
  queue: QueueAccess,
): { values: Map<string, PeoplesValue>; undecided: number } {
  const ofField = (list: Judgement[]): Judgement[] => list.filter((judgement) => judgement.field === field);
  const people = ofField(latestJudgements(judgementsOf(feedback))).filter(isByPerson);
  const gold = expected === 'majority' || expected === 'gold' ? ofField(goldOf(feedback)) : [];
  const values = new Map<string, PeoplesValue>();
  let undecided = 0;
  if (expected !== 'gold') {
    const isVoting = expected === 'majority';
    const [name] = isVoting ? [] : requireAnnotators([expected], people, 'expected', queue, noPerson);
    const voters = people.filter(({ annotator }) => isVoting || annotator === name);
    const settled = new Set(gold.map(({ call_id }) => call_id));
    for (const [callId, given] of byCall(voters)) {
      const winners = majorityOf(given);
      if (winners.length > 0) values.set(callId, sharedValue(winners));
      else if (!settled.has(callId)) undecided += 1;
    }
  }
  for (const judgement of gold) values.set(judgement.call_id, sharedValue([judgement]));
  return { values, undecided };
}

function sharedValue(given: readonly Judgement[]): PeoplesValue {
  const versions = new Set(given.map(({ guidelines }) => guidelines));
  const [guidelines] = versions.size === 1 ? versions : [];
  return { value: given[0]!.value, support: given.length, guidelines };
}
