import { afterAll, onTestFinished, TestRunner } from 'vitest';

/**
 * Runs `cleanUp` when the running test ends, or after the whole file when called at the top level. Vitest silently
 * drops an `afterAll` that a test registers.
 */
export function onEnd(cleanUp: () => unknown): void {
  const register = TestRunner.getCurrentTest() ? onTestFinished : afterAll;
  register(async () => {
    await cleanUp();
  });
}
