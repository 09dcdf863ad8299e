/** Maximum number of characters in the name of an object. */
const maxNameChars = 128;

/** Returns the name of a dataset or an evaluation that heddle makes of the first rows of another one, for a run of these. */
export function derivedName(name: string, rows: number): string {
  const suffix = `-first-${rows}`;
  return name.slice(0, maxNameChars - suffix.length) + suffix;
}

/** Returns whether an object has a name that {@link derivedName} gives. */
export function isDerivedName(objectId: string): boolean {
  return /-first-\d+$/.test(objectId);
}
