import { tools } from '../../src/tools/definition/registry.ts';

/** The methods that clients of both SDK versions share. */
export interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * Arguments for tools whose example names what neither the sample project nor the fake service has. Every other tool is called
 * with the example in its description.
 */
const otherExamples = new Map<string, Record<string, unknown>>([
  // Nobody has judged the sample.
  ['calibrate_scorer', { scorer: 'brief', queue_id: 'support-triage', field: 'helpful', dry_run: true }],
  ['update_queue_items', { queue_id: 'support-triage', items: [{ item_id: 'i1', annotation_state: 'completed' }] }],
]);

/**
 * Returns arguments with which a tool succeeds on the sample project of the embedded service, if create_evaluation is called before
 * the tools that run and read an evaluation. They also succeed at the fake service.
 * @throws Error if the tool is unknown or its description has no example.
 */
export function exampleFor(name: string): Record<string, unknown> {
  const { description } = tools.find((tool) => tool.name === name) ?? {};
  const example = /^Example: (\{.*\})$/m.exec(description ?? '')?.[1];
  if (example === undefined) throw new Error(`the description of ${name} has no line "Example: {…}"`);
  return otherExamples.get(name) ?? JSON.parse(example);
}

/** Calls every tool that the server lists, and returns their names. @throws Error if a call fails. */
export async function callEveryTool(client: AnyClient): Promise<string[]> {
  const listed = (await client.listTools()).tools;
  for (const { name } of listed) {
    const result = (await client.callTool({ name, arguments: exampleFor(name) })) as Record<string, unknown>;
    if (result.isError || result.structuredContent === undefined) {
      throw new Error(`${name} failed: ${JSON.stringify(result.content)}`);
    }
  }
  return listed.map(({ name }) => name);
}
