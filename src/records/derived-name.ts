/** Maximum number of characters in the name of an object. */
const maxNameChars = 128;

/** Returns the name of a dataset or an evaluation that heddle makes of a sample of the rows of another one. */
export function derivedName(name: string, { n, seed }: { n: number; seed: number }): string {
  const suffix = `-sample-${n}-seed-${seed}`;
  return name.slice(0, maxNameChars - suffix.length) + suffix;
}

/** Returns whether an object has a name that {@link derivedName} gives: to a sample of the object of a name, if one is given. */
export function isDerivedName(objectId: string, name?: string): boolean {
  const [, n, seed] = /-sample-(\d+)-seed-(\d+)$/.exec(objectId) ?? [];
  return (
    n !== undefined && (name === undefined || objectId === derivedName(name, { n: Number(n), seed: Number(seed) }))
  );
}

/** Description of the operations of runs, which no program has defined. */
export const operationOfRuns = 'Stored for the calls of runs, without code.';

/** Description of the models that heddle stores for a run or a judge. */
export const derivedModel = 'Stored by heddle for a run or a judge.';
