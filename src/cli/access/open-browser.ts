import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { invocation } from '../invocation.ts';

/** Opens an address in the person's browser. Returns false where there is no browser to open. */
export async function openBrowser(url: string): Promise<boolean> {
  const { environment: env } = invocation();
  const opener = openerOf(process.platform, env);
  if (!opener) return false;
  const [program, ...args] = opener;
  const child = spawn(program, [...args, url], { env, stdio: 'ignore', detached: true });
  child.unref();
  try {
    await once(child, 'spawn');
    return true;
  } catch {
    return false;
  }
}

/** Returns the program that opens addresses, with its first arguments; undefined without a desktop. */
function openerOf(platform: NodeJS.Platform, environment: NodeJS.ProcessEnv): [string, ...string[]] | undefined {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  const { DISPLAY, WAYLAND_DISPLAY, BROWSER } = environment;
  if (BROWSER) return [BROWSER];
  return DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : undefined;
}
