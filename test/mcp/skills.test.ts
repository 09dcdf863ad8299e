import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { GetSkillResultSchema, ListSkillsResultSchema } from '@modelcontextprotocol/core/ext/skills';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../src/service/http/openapi.ts';
import { connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { startScriptedModel } from '../support/scripted-model.ts';
import { skillNames } from '../support/skill-names.ts';

const root = join(import.meta.dirname, '../..');
const textOf = (name: string): string => readFileSync(join(root, 'skills', name, 'SKILL.md'), 'utf8');

async function connect(mode: 'legacy' | 'auto', settings = {}): Promise<Client> {
  return (await connectClient(emptyHome(temporaryFolder(), settings), { mode })).client;
}

const list = (client: Client) => client.request({ method: 'skills/list', params: {} }, ListSkillsResultSchema);
const get = (client: Client, uri: string) =>
  client.request({ method: 'skills/get', params: { uri } }, GetSkillResultSchema);

describe.each(['legacy', 'auto'] as const)('skills for a client in the %s era', async (mode) => {
  const client = await connect(mode);

  it('are declared and listed, with the digest and the length of the text that is read', async () => {
    expect(client.getServerCapabilities()?.extensions).toHaveProperty(['io.modelcontextprotocol/skills'], {});
    const { skills, ttlMs, cacheScope } = await list(client);
    expect([ttlMs, cacheScope]).toEqual([3_600_000, 'public']);
    expect(skills.map(({ uri }) => uri)).toEqual(skillNames.map((name) => `skill://${name}/SKILL.md`));
    for (const [index, skill] of skills.entries()) {
      const { uri, frontmatter, resources } = skill;
      expect((await get(client, uri)).skill).toEqual(skill);
      const { contents } = await client.readResource({ uri });
      const text = textOf(skillNames[index]!);
      expect(contents).toEqual([{ uri, mimeType: 'text/markdown', text }]);
      const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
      expect(resources).toEqual([{ uri, digest, size: Buffer.byteLength(text) }]);
      expect(text).toContain(`name: ${frontmatter.name}\ndescription: ${frontmatter.description}\n`);
    }
  });

  it('are not found at another address', async () => {
    await expect(get(client, 'skill://triage')).rejects.toThrow('No skill has this address');
    await expect(client.readResource({ uri: 'skill://triage-queue/OTHER.md' })).rejects.toThrow();
  });

  it('are offered only with all of their tools', async () => {
    const readOnly = await connect(mode, { HEDDLE_READ_ONLY: 'true' });
    expect((await list(readOnly)).skills).toEqual([]);
    const queueTools = await connect(mode, { HEDDLE_TOOLS: 'queue' });
    const offered = (await list(queueTools)).skills.map(({ uri }) => uri);
    const uri = 'skill://compare-runs/SKILL.md';
    expect(offered).toContain('skill://triage-queue/SKILL.md');
    expect(offered).not.toContain(uri);
    await expect(get(queueTools, uri)).rejects.toThrow('No skill has this address');
    await expect(queueTools.readResource({ uri })).rejects.toThrow();
  });
});

type Members = Record<string, unknown>;

/** Returns the tool calls in a skill, one a line in its blocks. */
function callsIn(text: string): { tool: string; args: string }[] {
  const blocks = [...text.matchAll(/^ *```heddle\n([\s\S]*?)\n *```$/gm)].map(([, block]) => block!);
  return blocks
    .flatMap((block) => block.split('\n'))
    .map((line) => {
      const [, tool, args] = /^ *(\w+) (\{.*\})$/.exec(line) ?? [];
      if (!tool || !args) throw new Error(`not a tool call: ${line}`);
      return { tool, args };
    });
}

describe.each(skillNames)('the skill %s', (name) => {
  it('contains only calls that the tools accept and that succeed in order', async () => {
    const model = await startScriptedModel(() => '{"score": true}');
    const client = await connect('auto', { HEDDLE_MODEL_PROVIDER_URL: model.url });
    const values: Record<string, string> = { QUEUE: 'support-triage', MODEL: 'judge' };
    Object.assign(values, { COLUMN: 'question', 'SCORING PROMPT': 'Is this helpful? {output}' });
    let count = 0;
    const call = async (tool: string, args: Members): Promise<Members> => {
      count += 1;
      const filled = JSON.parse(JSON.stringify(args), (_, value) =>
        value === 'NAME' ? `${name} ${count}` : (values[value as string] ?? value),
      );
      const result = await client.callTool({ name: tool, arguments: filled });
      expect(result.isError, `${tool} ${JSON.stringify(filled)}: ${JSON.stringify(result.content)}`).toBeFalsy();
      return result.structuredContent as Members;
    };
    const remember = (result: Members): void => {
      const { as_of, items, dataset_ref, scorer_ref, evaluation_ref, run_id } = result as Record<string, string> & {
        items?: { id?: string; call_id?: string }[];
      };
      const [item] = (items ?? []) as { id?: string; call_id?: string }[];
      const found = {
        AS_OF: as_of,
        ITEM: item?.id,
        CALL: item?.call_id,
        DATASET: dataset_ref,
        SCORER: scorer_ref,
        EVALUATION: evaluation_ref,
        RUN: run_id,
        ...(values.BASELINE === undefined ? { BASELINE: run_id } : { CANDIDATE: run_id }),
      };
      for (const [key, value] of Object.entries(found)) if (typeof value === 'string') values[key] = value;
    };

    // Judgements that people gave before, and a scorer to calibrate.
    const page = await call('query_queue_items', { queue_id: 'QUEUE', limit: 4 });
    const judged = (page.items as { id: string }[]).map(({ id }, index) => ({
      item_id: id,
      judgements: { helpful: index > 1 },
    }));
    await call('update_queue_items', { queue_id: 'QUEUE', items: judged, by_user: true });
    remember(
      await call('create_scorer', {
        name: 'Judge',
        kind: 'llm_judge',
        model: 'judge',
        prompt: 'Is this helpful? {output}',
        scale: { type: 'boolean' },
      }),
    );
    const calls = callsIn(textOf(name));
    expect(calls.length).toBeGreaterThan(3);
    for (const { tool, args } of calls) {
      const { dry_run, ...parsed } = JSON.parse(args.replaceAll('FIELD', 'helpful')) as Members;
      if (dry_run !== undefined) await call(tool, { ...parsed, dry_run });
      remember(await call(tool, parsed));
    }
  });

  it('names only tools, arguments and members that exist', () => {
    const known = [readFileSync(join(root, 'docs/tools.md'), 'utf8'), JSON.stringify(openApiDocument())];
    const words = [...textOf(name).matchAll(/`(\w+)`/g)].map(([, word]) => word!);
    expect(words.length).toBeGreaterThan(3);
    expect(words.filter((word) => !known.some((text) => new RegExp(`\\b${word}\\b`).test(text)))).toEqual([]);
  });

  it('has the front matter of an agent skill', () => {
    expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    const [, description] = /^---\nname: [a-z-]+\ndescription: (.*)\n---\n/.exec(textOf(name))!;
    expect(description!.length).toBeLessThanOrEqual(1024);
    // Otherwise YAML reads something else than this text.
    expect(description).not.toMatch(/: |^[\s"'[{&*!|>%@`#-]| #/);
    expect(readdirSync(join(root, 'skills', name))).toEqual(['SKILL.md']);
  });
});
