import { ownMember } from '../../core/json/member-at.ts';

const tones = new Map([
  ['\u{1f3fb}', 'light'],
  ['\u{1f3fc}', 'medium-light'],
  ['\u{1f3fd}', 'medium'],
  ['\u{1f3fe}', 'medium-dark'],
  ['\u{1f3ff}', 'dark'],
]);
const anyTone = /[\u{1f3fb}-\u{1f3ff}]/gu;

/** Adds to the payload of a reaction what the public service adds: the name of the emoji, and both without the tone of skin. */
export async function withEmojiNames(payload: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { emoji } = payload;
  if (typeof emoji !== 'string') return payload;
  const { default: signs } = await import('unicode-emoji-json', { with: { type: 'json' } });
  const detoned = emoji.replaceAll(anyTone, '');
  const name = (ownMember(signs, detoned) ?? ownMember(signs, `${detoned}\ufe0f`))?.slug;
  if (name === undefined) return payload;
  const suffixes = [...(emoji.match(anyTone) ?? [])].map((tone) => `_${tones.get(tone)}_skin_tone`);
  return { ...payload, alias: `:${name}${suffixes.join('')}:`, detoned, detoned_alias: `:${name}:` };
}
