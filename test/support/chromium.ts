import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect } from 'vitest';
import { listen } from '../../src/core/http/listen.ts';
import { onEnd } from './on-end.ts';
import { installedPath, requireFrom } from './outside-programs.ts';
import { requireProgram } from './require-program.ts';

const chatPage = fileURLToPath(new URL('../external/packages/chromium/chat-page.mjs', import.meta.url));
const executable = '/usr/bin/chromium';

/** True if Chromium and the packages that drive it are installed. */
export const hasChromium =
  requireProgram('Chromium', executable, 'apt-get install chromium') &&
  installedPath('chromium', 'playwright-core') !== undefined;

/** The part of playwright's types that the suite uses; the package is not installed where types are checked. */
export interface Locator {
  click(): Promise<void>;
  count(): Promise<number>;
  first(): Locator;
  nth(index: number): Locator;
  filter(options: { hasText: string | RegExp }): Locator;
  locator(selector: string): Locator;
  getByRole(role: string, options?: { name?: string | RegExp; exact?: boolean }): Locator;
  textContent(): Promise<string | null>;
  innerText(): Promise<string>;
  allInnerTexts(): Promise<string[]>;
  getAttribute(name: string): Promise<string | null>;
  fill(text: string): Promise<void>;
  selectOption(value: string): Promise<unknown>;
  check(): Promise<void>;
  uncheck(): Promise<void>;
  isVisible(): Promise<boolean>;
  isDisabled(): Promise<boolean>;
  inputValue(): Promise<string>;
  focus(): Promise<void>;
  waitFor(options?: { state?: 'visible' | 'hidden' | 'attached' | 'detached' }): Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: results of every shape
  evaluate(script: (node: any) => unknown): Promise<any>;
}

export interface Frame {
  url(): string;
  locator(selector: string): Locator;
  getByRole(role: string, options?: { name?: string | RegExp; exact?: boolean }): Locator;
  getByText(text: string | RegExp, options?: { exact?: boolean }): Locator;
  // biome-ignore lint/suspicious/noExplicitAny: results of every shape
  evaluate(script: string | ((argument: any) => unknown), argument?: unknown): Promise<any>;
  waitForFunction(script: string, argument?: unknown, options?: { timeout?: number }): Promise<unknown>;
}

export interface Page extends Frame {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  frames(): Frame[];
  on(event: string, listener: (value: never) => void): void;
  keyboard: {
    press(key: string): Promise<void>;
    down(key: string): Promise<void>;
    up(key: string): Promise<void>;
    type(text: string, options?: { delay: number }): Promise<void>;
  };
  setViewportSize(size: { width: number; height: number }): Promise<void>;
  emulateMedia(media: Record<string, string | null>): Promise<void>;
  screenshot(options: Record<string, unknown>): Promise<Buffer>;
  close(): Promise<void>;
}

export interface Browser {
  newContext(options?: Record<string, unknown>): Promise<{
    newPage(): Promise<Page>;
    cookies(): Promise<Record<string, unknown>[]>;
    setDefaultTimeout(milliseconds: number): void;
    close(): Promise<void>;
  }>;
  close(): Promise<void>;
}

/** Starts Chromium. It ends with the file or test that started it. */
export async function startChromium(): Promise<Browser> {
  const { chromium } = requireFrom('chromium')('playwright-core');
  // Containers rarely allow the sandbox, and give little shared memory.
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'];
  const browser: Browser = await chromium.launch({ executablePath: executable, args });
  onEnd(() => browser.close());
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext(options);
    // As long as polls: no test may fail because the machine is busy.
    context.setDefaultTimeout(60_000);
    return context;
  };
  return browser;
}

/** Path of axe-core's script, which a page runs to check itself. */
const axeScript = (): string => requireFrom('chromium').resolve('axe-core/axe.min.js');

/** Serves the page of a chat client on a port of its own, and returns its URL. */
export async function startChatPage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [chatPage],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'chrome123',
    logLevel: 'error',
  });
  const script = outputFiles[0]!.text;
  const server = createServer(({ url }, response) => {
    const isScript = url === '/chat.js';
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html; charset=utf-8' });
    const page = '<!doctype html><html lang="en"><title>Chat</title><h1>Chat</h1><script type="module" src="/chat.js">';
    response.end(isScript ? script : `${page}</script></html>`);
  });
  onEnd(() => void server.close());
  return listen(server, 0, '127.0.0.1');
}

/** A chat that shows a View. */
export interface OpenChat {
  page: Page;
  /** The frame of the View. */
  board: Frame;
}

interface ChatOptions {
  /** URL of the MCP server. */
  server: string;
  chatUrl: string;
  era?: 'legacy' | 'auto';
  tool?: string;
  args?: Record<string, unknown>;
  /** Options of `chat.open` in test/external/packages/chromium/chat-page.mjs. */
  open?: Record<string, unknown>;
  /** Options of the browser's context. */
  context?: Record<string, unknown>;
}

/** Opens a chat in a new context of the browser, which ends with the test, and lets it show the View of a tool; by default the board of a queue. */
export async function openChat(
  browser: Browser,
  {
    server,
    chatUrl,
    era = 'auto',
    tool = 'review_queue',
    args = { queue_id: 'support-triage' },
    open = {},
    context = {},
  }: ChatOptions,
): Promise<OpenChat> {
  const opened = await browser.newContext({ viewport: { width: 720, height: 900 }, locale: 'en-GB', ...context });
  onEnd(() => opened.close());
  const page = await opened.newPage();
  await page.goto(chatUrl);
  await page.waitForFunction('window.chat');
  await page.evaluate(`chat.connect(${JSON.stringify(server)}, ${JSON.stringify(era)})`);
  await page.evaluate(`chat.open(${JSON.stringify(tool)}, ${JSON.stringify(args)}, ${JSON.stringify(open)})`);
  return { page, board: page.frames()[1]! };
}

/** Waits until the board says something and is drawn: keys, and the text that a person sees, need a layout. */
export async function says(board: Frame, text: string | RegExp): Promise<void> {
  await board.locator('[role=status]').filter({ hasText: text }).waitFor();
  await board.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
}

/** Waits until the board shows how far its queue is: who has judged is counted after what the board says. */
export async function progressSays(board: Frame, text: string): Promise<void> {
  await expect.poll(() => board.locator('.progress').innerText()).toBe(text);
}

/** Returns the rules of axe-core that a frame breaks, with the elements that do. */
export async function accessibilityFindings(frame: Frame): Promise<string[]> {
  await frame.evaluate(readFileSync(axeScript(), 'utf8'));
  const { violations } = await frame.evaluate('axe.run()');
  return violations.map(
    ({ id, nodes }: { id: string; nodes: { html: string }[] }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`,
  );
}
