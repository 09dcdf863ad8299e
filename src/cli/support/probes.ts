import type { Connection } from '../../client/connection.ts';
import { ServiceClient } from '../../client/service-client.ts';
import { HeddleError } from '../../core/errors.ts';
import { version } from '../../core/version.ts';
import type { SettingValues } from '../../settings/settings.ts';
import { redactor } from './redactor.ts';

/** Project to ask about where none is configured; no service is asked to keep anything under it. */
const noProject = 'heddle/check';
/** No queue has it, and every service can read it as an id. */
const noQueue = '00000000-0000-0000-0000-000000000000';

/**
 * What the service makes of credentials: `accepted`; `unproven`, with the reason, where it lacks the operation or only
 * refuses a project that nobody configured; `failed`, with the error.
 */
export type Verdict = { state: 'accepted' } | { state: 'unproven' | 'failed'; error: HeddleError };

export interface Probes {
  /** A queue query that can return nothing (Basic). */
  query(): Promise<Verdict>;
  /** The list of models (Bearer). */
  models(): Promise<Verdict>;
  /** A creation without name and dataset, which no service of the interface can carry out (Basic). */
  create(): Promise<Verdict>;
  close(): Promise<void>;
}

/** Calls that change nothing and show whether credentials are good, one for each operation (interface part 5). */
export function openProbes(connection: Connection, { project, timeoutMs }: SettingValues): Probes {
  const client = new ServiceClient({
    connect: async () => connection,
    timeoutMs,
    userAgent: `heddle/${version}`,
    redact: (text) => redactor.redact(text),
  });
  const project_id = project ?? noProject;
  return {
    query: () => verdictOf(client.queryQueueItems(noQueue, { project_id, limit: 0 }), project !== undefined),
    models: () => verdictOf(client.listModels(), true),
    create: () => verdictOf(client.createEvaluation(project_id, {} as never), project !== undefined),
    close: () => client.close(),
  };
}

/** Whether the address answered without having the operation. */
export function isLacking(verdict: Verdict): boolean {
  return verdict.state === 'unproven' && verdict.error.code === 'unsupported';
}

async function verdictOf(call: Promise<unknown>, projectIsConfigured: boolean): Promise<Verdict> {
  try {
    await call;
    return { state: 'accepted' };
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    const { status, code } = error;
    // Whatever a service says about the request itself, it says to those whom it has let in.
    if (code === 'validation_failed' || status === 400) return { state: 'accepted' };
    const lacking = status === 404 || status === 405 || status === 501;
    const onlyTheProject = code === 'forbidden' && !projectIsConfigured;
    return { state: lacking || onlyTheProject ? 'unproven' : 'failed', error };
  }
}
