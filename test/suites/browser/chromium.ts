import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { WebSocket } from 'undici';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../../support/heddle.ts';

export const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!chromium) console.warn('SKIPPED: the browser suite needs chromium; `apt-get install chromium` installs it');

// biome-ignore lint/suspicious/noExplicitAny: the protocol of the browser has hundreds of shapes
type Message = any;

/** A page in a real browser that reaches nothing but this machine. */
export interface Page {
  send: (method: string, params?: object) => Promise<Message>;
  /** What the browser has told so far, by the name of the event. */
  events: (method: string) => Message[];
  /** The value of an expression in the page. */
  evaluate: <T>(expression: string) => Promise<T>;
  /** Goes to an address, and waits until everything in it is loaded. */
  open: (url: string) => Promise<void>;
}

/** Starts the browser; it ends with the test. */
export async function openPage(): Promise<Page> {
  const child: ChildProcess = spawn(
    chromium!,
    [
      '--headless=new',
      // Root, as in a container, cannot have the sandbox; the only pages are our own.
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-first-run',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      '--remote-debugging-port=0',
      `--user-data-dir=${temporaryFolder()}`,
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    child.kill();
    await once(child, 'exit');
  });
  const socket = new WebSocket(await debuggerUrl(child));
  await opened(socket);

  const events: Message[] = [];
  const waiting = new Map<number, (message: Message) => void>();
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data));
    if (message.id === undefined) events.push(message);
    else waiting.get(message.id)?.(message);
  });
  let id = 0;
  const ask = (method: string, params: object, sessionId?: string): Promise<Message> =>
    new Promise((resolve, reject) => {
      id += 1;
      waiting.set(id, ({ result, error }) =>
        error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result),
      );
      socket.send(JSON.stringify({ id, method, params, sessionId }));
    });
  const { targetId } = await ask('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await ask('Target.attachToTarget', { targetId, flatten: true });
  const page: Page = {
    send: (method, params = {}) => ask(method, params, sessionId),
    events: (method) => events.filter((event) => event.method === method).map(({ params }) => params),
    evaluate: async (expression) => {
      const { result, exceptionDetails } = await page.send('Runtime.evaluate', { expression, returnByValue: true });
      if (exceptionDetails) throw new Error(exceptionDetails.text);
      return result.value;
    },
    open: async (url) => {
      const before = page.events('Page.loadEventFired').length;
      await page.send('Page.navigate', { url });
      while (page.events('Page.loadEventFired').length === before)
        await new Promise((resolve) => setTimeout(resolve, 20));
    },
  };
  for (const domain of ['Page', 'Network', 'Log', 'Runtime']) await page.send(`${domain}.enable`);
  return page;
}

function debuggerUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const found = /DevTools listening on (ws:\S+)/.exec(text);
      if (found) resolve(found[1]!);
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`the browser did not start: ${text}`)));
  });
}

function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    if (socket.readyState === WebSocket.OPEN) resolve();
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('error', ({ message }) => reject(new Error(message)));
  });
}
