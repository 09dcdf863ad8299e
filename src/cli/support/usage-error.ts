/** A mistake in how a command was called. It is reported in one line, with exit code 2. */
export class UsageError extends Error {}
