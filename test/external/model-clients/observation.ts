import { connectClient } from '../../support/client.ts';
import { emptyHome } from '../../support/heddle.ts';
import { converse, countTokens, type ModelClient, versionOf } from './clients.ts';
import type { Turn } from './model-api.ts';

/** The behaviour of a client with heddle, as docs/clients.md shows it. */
export interface Observation {
  client: string;
  version: string;
  /** Form of a result that the model reads. */
  form: 'text' | 'structured' | 'both';
  /** True if the model reads the three lines of an error, however the client wraps them. */
  showsErrors: boolean;
  /** Part of heddle's instructions that the model has with the tools. */
  instructions: 'whole' | 'none';
  /** Tokens (o200k) of name, description and arguments of all tools as compact JSON, to the nearest hundred. */
  definitionTokens: number;
  /** Protocol revision of the calls. */
  revision: string;
  /** True if the client declares that heddle may ask a person. */
  asksPerson: boolean;
  /** True if the client wants to hear of the progress of a call. */
  progress: boolean;
  /** True if the client lists heddle's prompts. */
  prompts: boolean;
  /** True if the model can list heddle's resources, and finds a queue among them. */
  resources: boolean;
  /** True if the client declares that it shows Views. */
  apps: boolean;
}

/** Runs a client that lists the queues, asks for an unknown one and lists the resources, and describes what it did. */
export async function observe(client: ModelClient, home: string): Promise<Observation> {
  const { instructions, structured, text, error } = await ownResults(home);
  const turns: Turn[] = [
    () => ({ tool: 'list_queues', args: {} }),
    () => ({ tool: 'query_queue_items', args: { queue_id: 'support-triag' } }),
  ];
  const { resourceTool } = client;
  if (resourceTool) turns.push(() => ({ tool: resourceTool, args: {}, isOwn: true }));
  const { last, messages } = await converse(client, home, turns, { listsTools: true, isRecorded: true });
  const [queues, unknown, resources] = last.results.map(({ content }) => withoutQuotes(JSON.stringify(content)));
  const form = [queues!.includes(text) && 'text', queues!.includes(structured) && 'structured'].filter(Boolean);
  const [first] = messages;
  const calls = messages.filter(({ method }) => method === 'tools/call');
  const { _meta: meta = {} } = first.params;
  const capabilities = meta[`${namespace}clientCapabilities`] ?? first.params.capabilities;
  return {
    client: client.title,
    version: versionOf(client),
    form: form.length === 2 ? 'both' : (form[0] as Observation['form']),
    showsErrors: error.every((line) => unknown!.includes(line)),
    instructions: last.prompt.includes(instructions) ? 'whole' : 'none',
    // Rounded, so that not every reworded description changes what was seen of every client.
    definitionTokens: Math.round((await countTokens(last.tools.map(({ isStrict, ...tool }) => tool))) / 100) * 100,
    revision: meta[`${namespace}protocolVersion`] ?? first.params.protocolVersion,
    asksPerson: 'elicitation' in capabilities,
    progress: calls.every(({ params }) => params._meta?.progressToken !== undefined),
    prompts: messages.some(({ method }) => method === 'prompts/list'),
    resources: resources?.includes('heddle://demo/support/queues/support-triage') ?? false,
    apps: `${namespace}ui` in (capabilities.extensions ?? {}),
  };
}

const namespace = 'io.modelcontextprotocol/';

/** Returns what heddle itself sends: a part of each form of the queues, and the lines of the error. */
async function ownResults(home: string) {
  const { client } = await connectClient(emptyHome(home));
  const queues = await client.callTool({ name: 'list_queues', arguments: {} });
  const unknown = await client.callTool({ name: 'query_queue_items', arguments: { queue_id: 'support-triag' } });
  const textOf = ({ content }: typeof queues): string => (content as { text: string }[])[0]!.text;
  const [row] = textOf(queues).match(/support-triage\t.*/)!;
  return {
    instructions: client.getInstructions()!,
    text: withoutQuotes(JSON.stringify(row)),
    structured: `remaining:${(queues.structuredContent as { queues: { remaining: number }[] }).queues[0]!.remaining}`,
    error: textOf(unknown)
      .split('\n')
      .map((line) => withoutQuotes(JSON.stringify(line))),
  };
}

/** Removes what the nesting of JSON in JSON adds, and the spaces and quotes by which its writers differ. */
function withoutQuotes(text: string): string {
  return text.replace(/\\n(?=[A-Z{])|[\\"\s]/g, '');
}
