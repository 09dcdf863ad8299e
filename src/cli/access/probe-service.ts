import { type Connection, ownInferenceUrl } from '../../client/connection.ts';
import { ServiceClient } from '../../client/service-client.ts';
import { splitProjectId } from '../../contract/identifiers.ts';
import { HeddleError } from '../../core/errors.ts';
import { version } from '../../core/version.ts';
import type { SettingValues } from '../../settings/settings.ts';
import { invocation } from '../invocation.ts';

/** Sent where no project is configured. */
const placeholderProject = 'heddle/check';
/** A well-formed id that belongs to no queue. */
const unusedQueueId = '00000000-0000-0000-0000-000000000000';

/**
 * The service's verdict on credentials. `unproven`: the service lacks the operation, or refuses only the placeholder
 * project.
 */
type Verdict = { state: 'accepted' } | { state: 'unproven' | 'failed'; error: HeddleError };

/** The verdict of one operation on the credentials of one scheme. `url` is the base URL, or where inference is instead. */
export type Probe = Verdict & { operation: string; scheme: 'Basic' | 'Bearer'; url: string };

/**
 * Tests the credentials of a connection with requests that change nothing, one an operation.
 * @param withCreation also sends a creation that is invalid, since it names nothing to create.
 */
export async function probeService(
  connection: Connection,
  { project, timeoutMs }: Pick<SettingValues, 'project' | 'timeoutMs'>,
  { withCreation = false } = {},
): Promise<Probe[]> {
  const client = clientOf(connection, timeoutMs);
  const project_id = project ?? placeholderProject;
  const isPlaceholder = project === undefined;
  const probes: Probe[] = [];
  const { baseUrl: url } = connection;
  const inferenceUrl = ownInferenceUrl(connection) ?? url;
  try {
    if (connection.basic) {
      const query = client.call('queryQueueItems', {
        path: { queue_id: unusedQueueId },
        body: { project_id, limit: 0 },
      });
      probes.push({ operation: 'query_queue_items', scheme: 'Basic', url, ...(await judge(query, isPlaceholder)) });
    }
    if (connection.basic && withCreation) {
      const creation = client.call('createEvaluation', { path: splitProjectId(project_id), body: {} as never });
      probes.push({ operation: 'create_evaluation', scheme: 'Basic', url, ...(await judge(creation, isPlaceholder)) });
    }
    if (connection.bearer) {
      const models = client.call('listModels', {}, { project });
      const verdict = await judge(models, false);
      probes.push({ operation: 'run_inference', scheme: 'Bearer', url: inferenceUrl, ...verdict });
    }
  } finally {
    client.close();
  }
  return probes;
}

/** Lists the projects that an account may see; undefined at a service that cannot list them. */
export async function listVisibleProjects(connection: Connection, timeoutMs: number): Promise<string[] | undefined> {
  const client = clientOf(connection, timeoutMs);
  try {
    return (await client.call('listProjects', {})).projects.map(({ project_id }) => project_id);
  } catch (error) {
    if (error instanceof HeddleError) return undefined;
    throw error;
  } finally {
    client.close();
  }
}

function clientOf(connection: Connection, timeoutMs: number): ServiceClient {
  return new ServiceClient({
    connect: async () => connection,
    timeoutMs,
    userAgent: `heddle/${version}`,
    redact: (text) => invocation().redactor.redact(text),
  });
}

/** Returns true if the address responded but has none of the operations: it is not the service. */
export function lacksEveryOperation(probes: Probe[]): boolean {
  return probes.length > 0 && probes.every((probe) => probe.state === 'unproven' && probe.error.code === 'unsupported');
}

async function judge(response: Promise<unknown>, isPlaceholderProject: boolean): Promise<Verdict> {
  try {
    await response;
    return { state: 'accepted' };
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    const { status, code } = error;
    // A service judges the request itself only after it has accepted the credentials.
    if (code === 'validation_failed' || status === 400) return { state: 'accepted' };
    const isMissing = status === 404 || status === 405 || status === 501;
    const isProjectRefused = code === 'forbidden' && isPlaceholderProject;
    return { state: isMissing || isProjectRefused ? 'unproven' : 'failed', error };
  }
}
