/** Returns whether the databases keep a string as it is. NUL characters and unpaired surrogates are changed or refused. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Replaces what the databases do not keep by the replacement character. */
export function toStorableText(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}
