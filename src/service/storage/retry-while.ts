const deadlineMs = 10_000;

/**
 * Runs an operation again, after short random pauses, for up to 10 s as long as what it fails with is transient: another
 * process was in the way.
 */
export async function retryWhile<T>(
  isTransient: (error: unknown) => boolean,
  operation: () => Promise<T> | T,
): Promise<T> {
  const deadline = Date.now() + deadlineMs;
  for (let pause = 4; ; pause = Math.min(pause * 2, 64)) {
    try {
      return await operation();
    } catch (error) {
      if (!isTransient(error) || Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
  }
}
