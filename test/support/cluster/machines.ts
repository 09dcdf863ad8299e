import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { withStore } from '../embedded-service.ts';
import { freePort } from '../free-port.ts';
import { emptyHome, temporaryFolder } from '../heddle.ts';
import { type HttpProcess, startHttpProcess } from '../http-server.ts';
import { Cluster } from '../postgres-cluster.ts';
import { type Account, setUpProfiles } from '../profiles.ts';
import { addAccount, type ServiceProcess, startServiceProcess } from '../service-process.ts';
import { type Machine, startAuthorizationServer } from '../start-authorization-server.ts';
import { startBalancer, startServiceBalancer, trustingFetch } from '../start-nginx.ts';
import { type Model, startModel } from './model-provider.ts';

/** Items of the queue of each subject. */
export const itemsEach = 500;

/** A subject with an access token, an account of the service and a project. */
export interface Subject {
  name: Machine;
  account: string;
  project: string;
  /** May only call tools that change nothing. */
  readsOnly: boolean;
  token: string;
  credentials: Account;
}

/** Two processes of the same kind. */
export interface Pair<Process> {
  running: [Process, Process];
  /** Kills one of them, and waits until it has exited. */
  kill: (which: 0 | 1) => Promise<void>;
  /** Restarts it on its port, and waits until it listens. */
  restart: (which: 0 | 1) => Promise<void>;
}

/** All running parts. They end with the test. */
export interface Machines {
  databaseUrl: string;
  services: Pair<ServiceProcess>;
  servers: Pair<HttpProcess>;
  /** URL of the MCP endpoint, at its balancer. */
  url: URL;
  /** Base URL of the service, at its balancer. */
  serviceUrl: string;
  fetch: typeof fetch;
  subjects: Subject[];
  model: Model;
}

const names: Machine[] = ['machine-a', 'machine-b', 'writer', 'reader'];

/** Starts two servers and two services, each pair behind nginx, on one database, with an authorization server. */
export async function startMachines(): Promise<Machines> {
  const database = await Cluster.make();
  onTestFinished(() => database.remove());
  const stored = { HEDDLE_DATABASE_URL: database.url };
  const model = await startModel();
  const services = await startPair((port) =>
    startServiceProcess({ ...stored, HEDDLE_MODEL_PROVIDER_URL: model.url }, ['--port', port]),
  );
  const serviceUrl = (await startServiceBalancer(urlsOf(services))).origin;

  const authorization = await startAuthorizationServer();
  const port = await freePort();
  const url = new URL(`https://localhost:${port}/mcp`);
  const subjects: Subject[] = [];
  for (const name of names) {
    const account = `account-of-${name}`;
    const project = `team-of-${name}/work`;
    await fill(database.url, name, project);
    subjects.push({
      name,
      account,
      project,
      readsOnly: name === 'reader',
      token: await authorization.machineToken(name, url.href),
      credentials: {
        ...(await addAccount(account, emptyHome(temporaryFolder(), stored))),
        baseUrl: serviceUrl,
        project,
      },
    });
  }
  const { environment, subjectsFile } = await setUpProfiles(
    Object.fromEntries(subjects.map(({ name, credentials }) => [`of-${name}`, credentials])),
    Object.fromEntries(subjects.map(({ name }) => [name, `of-${name}`])),
  );
  const flags = ['--oauth-issuer', authorization.issuer, '--public-url', url.href, '--subjects', subjectsFile];
  const servers = await startPair((serverPort) => startHttpProcess([...flags, '--port', serverPort], environment));
  await startBalancer(urlsOf(servers), port);
  return { databaseUrl: database.url, services, servers, url, serviceUrl, fetch: trustingFetch(), subjects, model };
}

async function startPair<Process extends { url: string; child: ChildProcess }>(
  start: (port: string) => Promise<Process>,
): Promise<Pair<Process>> {
  const running: [Process, Process] = [await start('0'), await start('0')];
  return {
    running,
    async kill(which) {
      const { child } = running[which];
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    async restart(which) {
      running[which] = await start(new URL(running[which].url).port);
    },
  };
}

function urlsOf({ running: [one, other] }: Pair<{ url: string }>): [string, string] {
  return [one.url, other.url];
}

/** Fills a project. All projects have the same names and ids; only the contents name the subject. */
async function fill(databaseUrl: string, subject: string, project: string): Promise<void> {
  const lines = Array.from({ length: itemsEach }, (_, index) =>
    JSON.stringify({
      call_id: `call-${index}`,
      call_op_name: `operation of ${subject}`,
      call_trace_id: `trace-${index}`,
      call_started_at: '2026-11-01T09:00:00Z',
      display_fields: ['inputs.question'],
      call: { inputs: { question: `question ${index} of ${subject}` } },
    }),
  );
  await withStore(databaseUrl, async (store) => {
    await store.importItems(lines, { projectId: project, queueId: 'work' });
    await store.putObject('prompt', project, 'ask', [{ role: 'system', content: `prompt of ${subject}` }]);
    await store.putObject('dataset', project, 'rows', [{ question: `of ${subject}` }]);
  });
}
