import emoji from 'unicode-emoji-json' with { type: 'json' };

/** Returns the names of emoji, with which the service completes reactions, by the emoji. */
export function emojiNames(): object {
  return Object.fromEntries(Object.entries(emoji).map(([sign, { slug }]) => [sign, slug]));
}
