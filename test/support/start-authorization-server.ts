import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { installedPath, newNode } from './outside-programs.ts';

const script = fileURLToPath(new URL('../external/packages/oidc-provider/authorization-server.mjs', import.meta.url));
/** True if the authorization server can run here: it needs its package, and Node 22 or newer. */
export const hasAuthorizationServer =
  installedPath('oidc-provider', 'oidc-provider') !== undefined && newNode() !== undefined;

/** Clients that the server knows. The subject of their tokens is their name; `reader` may only have `heddle:read`. */
export type Machine = 'reader' | 'writer' | 'machine-a' | 'machine-b';

/** A running authorization server. */
export interface AuthorizationServer {
  /** URL for `--oauth-issuer`. */
  issuer: string;
  /** Returns an access token by client credentials. `resource` is the public URL of heddle. */
  machineToken: (machine: Machine, resource: string, scope?: string) => Promise<string>;
  /** Signs with a new key from now on, and still publishes the old ones. */
  rotate: () => Promise<void>;
  /** Refuses every connection until `resume`. */
  pause: () => Promise<void>;
  resume: () => Promise<void>;
  /** Signs a token with exactly these claims. */
  sign: (claims: object) => Promise<string>;
}

/** Starts the authorization server on a free port. It ends with the test. */
export async function startAuthorizationServer(): Promise<AuthorizationServer> {
  const child = spawn(newNode()!, [script], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const { issuer } = await reply<{ issuer: string }>(child, () => true);
  let last = 0;
  const order = async <Result>(name: string, argument?: unknown): Promise<Result> => {
    const id = ++last;
    child.send({ id, order: name, argument });
    return (await reply<{ id: number; result: Result }>(child, (message) => message.id === id)).result;
  };
  return {
    issuer,
    machineToken: (machine, resource, scope) => machineToken(issuer, machine, resource, scope),
    rotate: () => order('rotate'),
    pause: () => order('pause'),
    resume: () => order('resume'),
    sign: (claims) => order('sign', claims),
  };
}

function reply<Message>(child: ChildProcess, isIt: (message: Message) => boolean): Promise<Message> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown): void => {
      if (!isIt(message as Message)) return;
      child.off('message', onMessage).off('exit', onExit);
      resolve(message as Message);
    };
    const onExit = (code: number | null): void => reject(new Error(`the authorization server ended with ${code}`));
    child.on('message', onMessage).once('exit', onExit);
  });
}

async function machineToken(
  issuer: string,
  machine: Machine,
  resource: string,
  scope = machine === 'reader' ? 'heddle:read' : 'heddle:read heddle:write',
): Promise<string> {
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${machine}:${machine}-secret`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope }),
  });
  const { access_token, ...rest } = (await answer.json()) as { access_token?: string };
  if (access_token === undefined) throw new Error(`no token for ${machine}: ${JSON.stringify(rest)}`);
  return access_token;
}
