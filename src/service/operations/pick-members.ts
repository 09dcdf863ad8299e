/** Returns an object with those of its members that a request asks for; all of them if it names none. */
export function pickMembers<T extends object>(value: T, names: readonly string[] | null | undefined): T {
  if (!names?.length) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name))) as T;
}
