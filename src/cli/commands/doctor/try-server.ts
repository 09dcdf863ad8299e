import { existsSync } from 'node:fs';
import { dataLocation, hasSampleProject } from '../../../runtime/runtime.ts';
import type { ResolvedSettings } from '../../../settings/resolve-settings.ts';
import { connectToServer, type ServerProgram } from '../../access/connect-to-server.ts';
import { headingForPeople } from '../../terminal/aligned-table.ts';
import { inCommands } from '../../terminal/report-failure.ts';

/** What a client gets from a server. */
export interface TriedServer {
  /** The protocol and the number of tools. */
  session: string;
  /** What a call for the queues found; undefined if none was made. */
  found?: string;
  /** Why the call failed. */
  fault?: string;
}

/**
 * Starts a server and calls it as a client does.
 * @param settings those of the server. The doctor creates no data, so without a data file nothing is called.
 */
export async function tryServer(server: ServerProgram, settings: ResolvedSettings): Promise<TriedServer> {
  const { values } = settings;
  const client = await connectToServer('heddle-doctor', server);
  try {
    const { tools } = await client.listTools();
    const session = `protocol ${client.getNegotiatedProtocolVersion()}, ${tools.length} tools`;
    const isNew = hasSampleProject(values) && !existsSync(dataLocation(settings));
    const hasProject = values.project !== undefined || hasSampleProject(values);
    if (isNew || !hasProject || !tools.some(({ name }) => name === 'list_queues')) return { session };
    const { content, isError } = await client.callTool({ name: 'list_queues', arguments: {} });
    const [said] = content;
    const text = said?.type === 'text' ? inCommands(said.text) : '';
    const project = values.project === undefined ? '' : ` of ${values.project}`;
    if (!isError)
      return { session, found: `a call found the queues${project}: ${headingForPeople(text.split('\n', 1)[0]!)}` };
    return {
      session,
      fault: `a call for the queues${project} failed: ${text.split('\n').slice(0, 2).join(' ')}`,
    };
  } finally {
    await client.close();
  }
}
