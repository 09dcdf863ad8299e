const maxRetryMs = 10_000;

/** Time after which pauses are as short as at first: else those that came later would always get ahead. */
const patientMs = 1000;

/** Repeats an operation, after short random pauses, for up to 10 s while its errors are transient. Throws the last error. */
export async function retryWhile<T>(
  isTransient: (error: unknown) => boolean,
  operation: () => Promise<T> | T,
): Promise<T> {
  const startedAt = Date.now();
  for (let pauseMs = 4; ; pauseMs = Date.now() - startedAt > patientMs ? 4 : Math.min(pauseMs * 2, 64)) {
    try {
      return await operation();
    } catch (error) {
      if (!isTransient(error) || Date.now() - startedAt > maxRetryMs) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random())));
  }
}
