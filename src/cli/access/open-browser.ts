import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { invocation } from '../invocation.ts';

/**
 * Opens an address with a secret in the person's browser. Every user of a machine can read the arguments of its programs, so the
 * browser is given the path of a page that only this user can read, and which leads to the address.
 * @returns a function that removes the page; undefined where there is no browser to open.
 */
export async function openBrowser(url: string): Promise<(() => void) | undefined> {
  const { environment: env } = invocation();
  const opener = openerOf(process.platform, env);
  if (!opener) return undefined;
  const [program, ...args] = opener;
  const folder = mkdtempSync(join(tmpdir(), 'heddle-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const page = join(folder, 'open.html');
  writeFileSync(page, pageTo(url), { mode: 0o600 });
  const child = spawn(program, [...args, pathToFileURL(page).href], { env, stdio: 'ignore', detached: true });
  child.unref();
  try {
    await once(child, 'spawn');
    return remove;
  } catch {
    remove();
    return undefined;
  }
}

/** Returns a page that leads to an address without characters that HTML interprets. */
function pageTo(url: string): string {
  const head = `<meta charset="utf-8"><title>heddle</title><meta http-equiv="refresh" content="0; url=${url}">`;
  return `<!doctype html>\n${head}\n<a href="${url}">Continue</a>\n`;
}

/** Returns the program that opens addresses, with its first arguments; undefined without a desktop. */
function openerOf(platform: NodeJS.Platform, environment: NodeJS.ProcessEnv): [string, ...string[]] | undefined {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  const { DISPLAY, WAYLAND_DISPLAY, BROWSER } = environment;
  if (BROWSER) return [BROWSER];
  return DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : undefined;
}
