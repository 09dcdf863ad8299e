import { expect, it } from 'vitest';
import { collectGarbage } from '../../src/runtime/process-lifecycle.ts';

it('collects what nothing refers to any more, without a flag of Node', async () => {
  const forgotten = new WeakRef({ large: 'x'.repeat(1000) });
  // A WeakRef keeps its object until the current job has ended.
  await new Promise((resolve) => setImmediate(resolve));
  await collectGarbage();
  expect(forgotten.deref()).toBe(undefined);
});
