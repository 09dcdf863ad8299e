import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/heddle.ts';
import * as clients from './clients.ts';
import { observe } from './observation.ts';

// docs/clients.md is generated from these files. After a change that is meant, run the suite with -u, then `npm run generate`.
describe.each([
  ['claude-code', clients.claudeCode],
  ['codex', clients.codex],
  ['gemini-cli', clients.geminiCli],
  ['opencode', clients.opencode],
  ['copilot-cli', clients.copilotCli],
  ['ai-sdk', clients.aiSdk],
  ['google-genai', clients.googleGenai],
  ['langchain', clients.langChain],
  ['llamaindex', clients.llamaIndex],
  ['mastra', clients.mastra],
  ['openai-agents', clients.openaiAgents],
  ['openai-agents-strict', clients.openaiAgentsStrict],
])('%s', (name, client) => {
  it.skipIf(!client.program)('shows its model what docs/clients.md says', async () => {
    const observation = await observe(client, temporaryFolder());
    expect(observation.showsErrors).toBe(true);
    await expect(`${JSON.stringify(observation, null, 2)}\n`).toMatchFileSnapshot(`observed/${name}.json`);
  });
});
