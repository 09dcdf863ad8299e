/** Replaces the progress line if stderr is a terminal. An empty text removes it. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text}\u001b[K`);
}
