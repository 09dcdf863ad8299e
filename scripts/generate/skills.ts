import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listedTools } from './listed-tools.ts';

const folder = fileURLToPath(new URL('../../skills', import.meta.url));

/** A skill for agents, as the server sends it. */
export interface PackedSkill {
  name: string;
  description: string;
  /** Tools that the text names; the skill is of no use without them. */
  tools: string[];
  /** Length of the text in bytes. */
  size: number;
  digest: string;
  text: string;
}

/** Reads the skills, sorted by name. */
export function packedSkills(): PackedSkill[] {
  return readdirSync(folder).sort().map(packedSkill);
}

/** Throws an error for front matter with more than a name and a description, or with another name than that of its folder. */
function packedSkill(name: string): PackedSkill {
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
