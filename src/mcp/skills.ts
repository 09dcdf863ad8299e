import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server';
import * as z from 'zod';

const cacheHint = { ttlMs: 3_600_000, cacheScope: 'public' } as const;

export const listSkillsParams = z.looseObject({});
export const getSkillParams = z.looseObject({ uri: z.string() });

/** A skill for agents, as `npm run generate` packs it. */
export interface Skill {
  name: string;
  description: string;
  /** Tools that the text names; the skill is of no use without them. */
  tools: string[];
  /** Length of the text in bytes. */
  size: number;
  digest: string;
  text: string;
}

/** Returns whether an address is that of a skill. */
export function isSkill(uri: string): boolean {
  return uri.startsWith('skill://');
}

/** Returns the skills whose tools are all offered, in the form of `skills/list`. */
export async function listSkills(isOffered: (tool: string) => boolean) {
  return { skills: (await offeredSkills(isOffered)).map(listedSkill), ...cacheHint };
}

/**
 * Returns one skill, in the form of `skills/get`.
 * @throws ProtocolError for an unknown address.
 */
export async function getSkill(uri: string, isOffered: (tool: string) => boolean) {
  const skill = await findSkill(uri, isOffered);
  if (skill) return { skill: listedSkill(skill), ...cacheHint };
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'No skill has this address; skills/list names them');
}

/**
 * Reads the text of a skill.
 * @throws ResourceNotFoundError for an unknown address.
 */
export async function readSkill(uri: string, isOffered: (tool: string) => boolean): Promise<ReadResourceResult> {
  const skill = await findSkill(uri, isOffered);
  if (!skill) throw new ResourceNotFoundError(uri);
  return { contents: [{ uri, mimeType: 'text/markdown', text: skill.text }], ...cacheHint };
}

async function offeredSkills(isOffered: (tool: string) => boolean): Promise<Skill[]> {
  // Loaded when a client asks: most never do.
  const { default: skills } = await import('./skills.json', { with: { type: 'json' } });
  return skills.filter(({ tools }) => tools.every(isOffered));
}

async function findSkill(uri: string, isOffered: (tool: string) => boolean): Promise<Skill | undefined> {
  return (await offeredSkills(isOffered)).find((skill) => addressOf(skill) === uri);
}

function addressOf({ name }: Skill): string {
  return `skill://${name}/SKILL.md`;
}

function listedSkill(skill: Skill) {
  const { name, description, digest, size } = skill;
  const uri = addressOf(skill);
  return { uri, frontmatter: { name, description }, resources: [{ uri, digest, size }] };
}
