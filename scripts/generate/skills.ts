import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Skill } from '../../src/mcp/skills.ts';
import { listedTools } from './listed-tools.ts';

const folder = fileURLToPath(new URL('../../skills', import.meta.url));

/** Reads the skills, sorted by name. */
export function packedSkills(): Skill[] {
  return readdirSync(folder).sort().map(packedSkill);
}

/** Throws an error for front matter with more than a name and a description, or with another name than that of its folder. */
function packedSkill(name: string): Skill {
  const text = readFileSync(join(folder, name, 'SKILL.md'), 'utf8');
  const description = new RegExp(`^---\\nname: ${name}\\ndescription: (.+)\\n---\\n`).exec(text)?.[1];
  if (description === undefined) throw new Error(`skills/${name}/SKILL.md needs the name ${name} and a description`);
  const words = new Set(text.match(/\w+/g));
  return {
    name,
    description,
    tools: listedTools.map((tool) => tool.name).filter((tool) => words.has(tool)),
    size: Buffer.byteLength(text),
    digest: `sha256:${createHash('sha256').update(text).digest('hex')}`,
    text,
  };
}
