import type { ServiceClient } from '../client/service-client.ts';

/** The one who judges: the user or an agent, both with the account of the service. */
export interface Judge {
  /** Name of the MCP client, if it has sent one. */
  clientName?: string | undefined;
  /** True for judgements that the user gives, which are separate from those of the client's agent. */
  byUser?: boolean | undefined;
}

/** The progress of a tool call. */
export interface Progress {
  /** Only grows during a call. */
  done: number;
  total?: number | undefined;
  /** The things that are counted, in the plural, such as `predictions`. */
  unit: string;
  /** The run of an evaluation that the call has started or follows. */
  run_id?: string;
}

export type ReportProgress = (progress: Progress) => void;

/** The part of a tool call that queues and evaluations need. */
export interface CallContext extends Judge {
  /** Its requests end when the client cancels the tool call or disconnects. */
  service: ServiceClient;
  /** Maximum characters of the serialised result; asking the service for more than fits is pointless. */
  maxResultChars: number;
  /** Removes the secrets that heddle knows from a value that is to be stored. */
  withoutSecrets: <T>(value: T) => Promise<T>;
  progress: ReportProgress;
  /** Has the result say which annotator the name of an account was taken for. */
  noteMeant?: (name: string, annotator: string) => void;
}
