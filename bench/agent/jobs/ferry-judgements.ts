import { faultsOfNotDone } from '../answer.ts';
import { callId } from '../ferry/calls.ts';
import { ferryJob } from '../ferry/ferry-job.ts';
import { talks } from '../ferry/talks.ts';
import { userAccount } from '../workspace.ts';

export const undoMine = ferryJob({
  name: 'undo-mine',
  needs: ['update_queue_items'],
  turns: [
    'In "Autumn complaints", the answers to complaint-45 and complaint-46 are not correct, and both have severity 4. Record that, put the note "call back" on complaint-46, and complete complaint-45.',
    'Sorry, those were the wrong ones. Take back everything that you have just done there. For each thing that cannot be taken back, write a line that begins with NOT DONE:.',
  ],
  async check([, answer = ''], changes) {
    // A service cannot make an item unstarted again.
    const stays = 'queue Autumn complaints item complaint-45: unstarted → in_progress';
    return [...(await changes.faultsOf([stays])), ...faultsOfNotDone(answer, 1)];
  },
});

export const corrections = ferryJob({
  name: 'corrections',
  needs: ['update_queue_items'],
  turns: [
    'I made two mistakes when I judged "Autumn complaints" on the board myself. Please correct my own judgements for me: complaint-05 has severity 4, not 2. And I should not have judged complaint-07 at all: withdraw all that I said about it. Leave what others said.',
  ],
  check: (_answers, changes) =>
    changes.faultsOf([
      `complaint-05 severity by ${userAccount}: 2 → 4`,
      `complaint-07 correct by ${userAccount}: true → –`,
      `complaint-07 severity by ${userAccount}: 2 → –`,
    ]),
});

export const settleDisputes = ferryJob({
  name: 'settle-disputes',
  needs: ['summarize_queue', 'update_queue_items'],
  turns: [
    'Ana and ben do not agree on some autumn complaints whether the answer was correct. Ana has the bookings before her, so she is right. Settle these disputes for good with her values, for the reason "ana has the bookings"; do not add a judgement of anybody.',
  ],
  check: (_answers, changes) =>
    changes.faultsOf([
      'complaint-03 gold correct: – → false',
      'complaint-12 gold correct: – → false',
      'complaint-19 gold correct: – → true',
      'complaint-26 gold correct: – → true',
      'complaint-38 gold correct: – → true',
    ]),
});

export const longTalks = ferryJob({
  name: 'long-talks',
  needs: ['query_queue_items', 'update_queue_items'],
  turns: ['Please judge the six items of "Long talks" by its guidelines, and complete them.'],
  check: (_answers, changes) =>
    changes.faultsOf(
      talks.flatMap(({ isResolved }, index) => {
        const call = callId('talk', index + 1);
        return [`queue Long talks item ${call}: unstarted → completed`, `${call} resolved by model: – → ${isResolved}`];
      }),
    ),
});
