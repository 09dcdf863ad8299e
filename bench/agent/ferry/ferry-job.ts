import { type Changes, followChanges } from '../follow-changes.ts';
import type { Job } from '../job.ts';
import type { Workspace } from '../workspace.ts';
import { ferryData } from './data.ts';

/** A job on the data of the ferry line. */
interface FerryJob {
  name: string;
  needs: readonly string[];
  turns: readonly string[];
  /** Does what comes before the model, such as to start other models. */
  begin?: (workspace: Workspace) => Promise<unknown>;
  /** Returns the faults; see PreparedJob. `changes` has what the model has changed. */
  check: (answers: readonly string[], changes: Changes, workspace: Workspace) => Promise<string[]> | string[];
}

/** Returns the job, which begins with a copy of the data of the ferry line. */
export function ferryJob({ name, needs, turns, begin, check }: FerryJob): Job {
  return {
    name,
    needs,
    maxCalls: 25,
    data: ferryData,
    async prepare(workspace) {
      await begin?.(workspace);
      const changes = await followChanges(workspace);
      return { turns, check: async (answers) => check(answers, changes, workspace) };
    },
  };
}
