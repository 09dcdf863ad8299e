const maxRetryMs = 10_000;

/** Repeats an operation, after short random pauses, for up to 10 s while its errors are transient. Throws the last error. */
export async function retryWhile<T>(
  isTransient: (error: unknown) => boolean,
  operation: () => Promise<T> | T,
): Promise<T> {
  const deadline = Date.now() + maxRetryMs;
  for (let pauseMs = 4; ; pauseMs = Math.min(pauseMs * 2, 64)) {
    try {
      return await operation();
    } catch (error) {
      if (!isTransient(error) || Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random())));
  }
}
