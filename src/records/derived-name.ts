/** Maximum number of characters in the name of an object. */
const maxNameChars = 128;

/** Returns the name of a dataset or an evaluation that heddle makes of a sample of the rows of another one. */
export function derivedName(name: string, { n, seed }: { n: number; seed: number }): string {
  const suffix = `-sample-${n}-seed-${seed}`;
  return name.slice(0, maxNameChars - suffix.length) + suffix;
}

/** Returns whether an object has a name that {@link derivedName} gives. */
export function isDerivedName(objectId: string): boolean {
  return /-sample-\d+-seed-\d+$/.test(objectId);
}
