import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { emptyHome, temporaryFolder } from './heddle.ts';
import { requireProgram } from './require-program.ts';

const programs = ['dbus-run-session', 'dbus-send', 'gdbus', 'gnome-keyring-daemon', 'secret-tool', 'script'];
const packages = 'dbus libglib2.0-bin gnome-keyring libsecret-tools bsdutils';

/** True if a Secret Service can run here. */
export const hasSecretService = programs
  .map((program) => requireProgram(program, program, `apt-get install ${packages}`))
  .every(Boolean);

export interface KeyringSession {
  home: string;
  /** Environment for processes in the session. */
  environment: Record<string, string>;
  /** Returns the output of the message bus and the keyring, which mentions prompts. */
  output: () => string;
  lock: () => void;
  /** Makes the keyring hang, as it does while a prompt is open. */
  freeze: () => void;
  /** Runs secret-tool, and returns its output or undefined if it finds nothing. */
  secretTool: (...args: string[]) => string | undefined;
}

/** Starts a message bus and an unlocked Secret Service in an empty home. They end with the test. */
export async function startSession(): Promise<KeyringSession> {
  const home = temporaryFolder();
  const session = spawn(
    'dbus-run-session',
    [
      '--',
      'sh',
      '-c',
      `printf keyring-password | gnome-keyring-daemon --unlock --components=secrets >&2
      gdbus wait --session --timeout 20 org.freedesktop.secrets && echo "$DBUS_SESSION_BUS_ADDRESS" && cat`,
    ],
    { env: emptyHome(home) },
  );
  let pid = 0;
  onTestFinished(async () => {
    if (pid > 0) process.kill(pid, 'SIGKILL');
    const closed = once(session, 'close');
    session.stdin.end();
    await closed;
  });
  let output = '';
  session.stderr.on('data', (bytes: Buffer) => {
    output += bytes;
  });
  const [address] = (await once(createInterface(session.stdout), 'line')) as [string];
  const environment = emptyHome(home, { DBUS_SESSION_BUS_ADDRESS: address });
  const send = (...args: string[]): string =>
    execFileSync('dbus-send', ['--session', '--print-reply', ...args], { env: environment, encoding: 'utf8' });
  const service = '--dest=org.freedesktop.secrets';
  pid = Number(
    /uint32 (\d+)/.exec(
      send(
        '--dest=org.freedesktop.DBus',
        '/org/freedesktop/DBus',
        'org.freedesktop.DBus.GetConnectionUnixProcessID',
        'string:org.freedesktop.secrets',
      ),
    )?.[1],
  );
  return {
    home,
    environment,
    output: () => output,
    lock: () => {
      const login = 'array:objpath:/org/freedesktop/secrets/collection/login';
      send(service, '/org/freedesktop/secrets', 'org.freedesktop.Secret.Service.Lock', login);
    },
    freeze: () => void process.kill(pid, 'SIGSTOP'),
    secretTool: (...args) => {
      const { status, stdout } = spawnSync('secret-tool', args, { env: environment, encoding: 'utf8' });
      return status === 0 && stdout !== '' ? stdout : undefined;
    },
  };
}
