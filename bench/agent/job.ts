import type { Workspace } from './workspace.ts';

/** A job for a model: data, what a user asks for, and the end state that must follow. */
export interface Job {
  /** Name for `--jobs`, and the row of the table. */
  name: string;
  /** Tools without which it cannot be done; a server that lacks one is not measured on it. */
  needs: readonly string[];
  /** Settings of heddle besides the defaults, as environment variables. */
  settings?: Readonly<Record<string, string>>;
  /** Returns the file with the data that it begins with; without it, with none. */
  data?: () => Promise<string>;
  /** Tool calls after which the job counts as failed. */
  maxCalls: number;
  /** Stores the data of the job. */
  prepare: (workspace: Workspace) => Promise<PreparedJob>;
}

export interface PreparedJob {
  /** Messages of the user. Each follows when the model has answered the one before. */
  turns: readonly string[];
  /** Acts as other people do after the model's first look at the items of a queue, or at their number. */
  meanwhile?: () => Promise<void>;
  /**
   * Compares the end state with what was asked for; returns the faults, none if the job is done.
   * @param answers what the model said to each of the user's messages.
   */
  check: (answers: readonly string[]) => Promise<string[]>;
}
