import { describe, expect, it } from 'vitest';
import { toolNames } from '../../pins/tools.ts';
import { exampleFor } from '../../support/call-every-tool.ts';
import { command, emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { startHttp } from '../../support/http-server.ts';
import { installedPath, type Ran, runTool } from '../../support/outside-programs.ts';
import { skillNames } from '../../support/skill-names.ts';

const inspector = installedPath('mcp', '@modelcontextprotocol/inspector/clients/launcher/build/index.js');

type Inspect = (...args: string[]) => Promise<Ran>;

/** Returns a function that runs the Inspector for one server, in an empty home. */
function inspecting(target: string[], ...options: string[]): Inspect {
  const folder = temporaryFolder();
  return (...args) =>
    runTool(
      process.execPath,
      [inspector!, '--cli', ...target, ...options, '--format', 'json', ...args],
      emptyHome(folder),
      folder,
    );
}

const overStdio = async (): Promise<string[]> => [process.execPath, command, 'serve'];
const overHttp = async (): Promise<string[]> => [(await startHttp()).url, '--transport', 'http'];

/** Lists the tools, and returns their names. */
async function listTools(inspect: Inspect): Promise<string[]> {
  const { code, stdout, stderr } = await inspect('--method', 'tools/list', '--strict');
  expect(code, stderr).toBe(0);
  expect(stderr).toBe('');
  const { tools } = JSON.parse(stdout).result as { tools: { name: string }[] };
  return tools.map(({ name }) => name);
}

async function expectSuccess(inspect: Inspect, tool: string): Promise<void> {
  const args = JSON.stringify(exampleFor(tool));
  const { code, stdout, stderr } = await inspect(
    '--method',
    'tools/call',
    '--tool-name',
    tool,
    '--tool-args-json',
    args,
  );
  expect(code, `${tool}: ${stderr}`).toBe(0);
  expect(JSON.parse(stdout).result.isError ?? false, tool).toBe(false);
}

describe.skipIf(!inspector)('the MCP Inspector', () => {
  it('finds no schema error and calls tools of each kind over HTTP, 2026-07-28', async () => {
    const inspect = inspecting(await overHttp(), '--protocol-era', 'modern');
    expect(await listTools(inspect)).toEqual(toolNames);
    // The client of the SDK, which the Inspector has too, calls every tool in test/tools/over-stdio.test.ts.
    for (const tool of ['query_queue_items', 'review_queue', 'run_inference', 'create_queue', 'create_dataset']) {
      await expectSuccess(inspect, tool);
    }
  });

  it.each([
    ['stdio, older era', overStdio, 'legacy'],
    ['stdio, negotiated', overStdio, 'auto'],
    ['stdio, 2026-07-28', overStdio, 'modern'],
    ['HTTP, older era', overHttp, 'legacy'],
    ['HTTP, negotiated', overHttp, 'auto'],
  ] as const)('finds no schema error and calls a tool over %s', async (_, target, era) => {
    const inspect = inspecting(await target(), '--protocol-era', era);
    expect(await listTools(inspect)).toEqual(toolNames);
    await expectSuccess(inspect, 'query_queue_items');
  });

  it.each(['legacy', 'modern'])('verifies the skills by their digests in the %s era', async (era) => {
    const inspect = inspecting(await overStdio(), '--protocol-era', era);
    const { code, stdout, stderr } = await inspect('--method', 'skills/list', '--verify');
    expect(code, stderr).toBe(0);
    expect(stdout + stderr).toContain(
      `Verified ${skillNames.length} skills and ${skillNames.length} files: no conformance errors.`,
    );
  });

  it.each(['legacy', 'modern'])('finds the View of each tool that has one in the %s era', async (era) => {
    const inspect = inspecting(await overStdio(), '--protocol-era', era, '--advertise-apps');
    const { code, stdout, stderr } = await inspect('--method', 'tools/list', '--app-info');
    expect(code, stderr).toBe(0);
    const found = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const view = {
      hasApp: true,
      visibility: ['model', 'app'],
      prefersBorder: true,
      resourceMimeType: 'text/html;profile=mcp-app',
    };
    expect(found.filter(({ hasApp }) => hasApp)).toEqual([
      { ...view, toolName: 'review_queue', resourceUri: 'ui://heddle/review' },
      { ...view, toolName: 'read_evaluation', resourceUri: 'ui://heddle/evaluation' },
    ]);
    expect(found.filter(({ resourceError }) => resourceError !== undefined)).toEqual([]);
  });

  it('reports the error of a tool', async () => {
    const inspect = inspecting(await overStdio());
    const { code } = await inspect('--method', 'tools/call', '--tool-name', 'run_inference', '--tool-args-json', '{}');
    expect(code).toBe(5);
  });
});
