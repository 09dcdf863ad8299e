import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { invocation } from '../../invocation.ts';

/** Project that the demo records into. */
export const recordedProject = 'demo/recorded';

/** A program that uses the SDK, as its users write it. */
const program = `
const weave = require(process.argv[1]);
(async () => {
  const client = await weave.init(${JSON.stringify(recordedProject)}, { printCallLink: false });
  const answer = weave.op(
    async function answer(question) {
      return question.includes('refund') ? 'A refund takes five days.' : 'I do not know.';
    },
    { parameterNames: ['question'] },
  );
  for (const question of ['How long does a refund take?', 'Can I pay by invoice?']) await answer(question);
  await client.waitForBatchProcessing();
})();`;

const sdkTimeoutMs = 30_000;

/** Returns the path of the public service's SDK (npm weave) if it is installed for programs in a folder. */
export function findSdk(folder: string): string | undefined {
  try {
    return createRequire(join(folder, 'package.json')).resolve('weave');
  } catch {
    return undefined;
  }
}

/**
 * Starts the embedded service over HTTP on a data folder, creates an account, and records two calls with the SDK. It takes the
 * address and the key from its two environment variables; see docs/recording.md.
 * @throws Error if the service does not start, or the program fails.
 */
export async function recordWithSdk(
  sdk: string,
  folder: string,
  environment: Record<string, string>,
  signal: AbortSignal,
): Promise<void> {
  const heddle = [...process.execArgv, invocation().script, 'service'];
  const data = ['--data-dir', folder];
  const service = spawn(process.execPath, [...heddle, 'start', '--port', '0', ...data], {
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  try {
    const url = await urlOf(createInterface({ input: service.stderr }));
    const account = ['add-user', 'recorder', recordedProject, '--env', '--url', url];
    const { stdout } = await promisify(execFile)(process.execPath, [...heddle, ...account, ...data], {
      env: environment,
      signal,
    });
    const variables = Object.fromEntries([...stdout.matchAll(/^export (\w+)=(.*)$/gm)].map(([, ...pair]) => pair));
    await promisify(execFile)(process.execPath, ['-e', program, sdk], {
      env: { ...environment, ...variables },
      timeout: sdkTimeoutMs,
      signal,
    });
  } finally {
    const exit = once(service, 'exit');
    if (service.kill()) await exit;
  }
}

/** Returns the address that the service prints once it listens. */
async function urlOf(lines: AsyncIterable<string>): Promise<string> {
  const printed: string[] = [];
  for await (const line of lines) {
    const [, url] = /^listening on (http\S+)$/.exec(line) ?? [];
    if (url !== undefined) return url;
    printed.push(line);
  }
  throw new Error(`The service did not start: ${printed.join('\n')}`);
}
