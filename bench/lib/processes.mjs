// Starts the measured processes and reads their memory and processor time from the kernel.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';

/** Processes to kill when the bench ends or fails. */
const running = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts `node ...args`; killed when the bench ends. */
export function start(args, env = {}, stdio = ['pipe', 'pipe', 'pipe']) {
  // Node would read this file of certificates at every start, which takes longer than the rest of it. Nothing here uses TLS.
  const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env;
  const child = spawn(process.execPath, args, { env: { ...environment, ...env }, stdio });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Kills a process and waits for its end. */
export async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Resolves to the first match of `pattern` in a stream of a process. */
export function said(child, stream, pattern) {
  return new Promise((resolve, reject) => {
    let text = '';
    child[stream].on('data', (part) => {
      if (text === undefined) return;
      text += part;
      const found = pattern.exec(text);
      if (!found) return;
      text = undefined;
      resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code} before saying ${pattern}: ${text}`)));
  });
}

/** Starts the stub service and resolves to its process and URL. */
export async function startStub() {
  const child = start([new URL('../stub-service.mjs', import.meta.url).pathname], {}, ['ignore', 'pipe', 'inherit']);
  const [port] = await said(child, 'stdout', /\d+(?=\n)/);
  return { child, url: `http://127.0.0.1:${port}` };
}

/** Reads the memory of a process in MB: resident now and at its peak. Linux only; NaN elsewhere. */
export function memoryOf({ pid }) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const megabytes = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
    return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') };
  } catch {
    return { now: Number.NaN, peak: Number.NaN };
  }
}

/** Reads the processor time of a process and its threads so far in ms. Linux only; NaN elsewhere. */
export function cpuOf({ pid }) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const onCpu = (thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    return threads.reduce((sum, thread) => sum + onCpu(thread), 0) / 1e6;
  } catch {
    return Number.NaN;
  }
}
