import { onTestFinished } from 'vitest';
import { type HttpProcess, startHttp } from '../../protocol/http-process.ts';
import { withStore } from '../../service/helpers.ts';
import { freePort, startBalancer, startServiceBalancer, trustingFetch } from '../nginx/start-nginx.ts';
import { type Account, addAccount, setUpProfiles } from '../oauth/profiles.ts';
import { type Machine, startAuthorizationServer } from '../oauth/start-authorization-server.ts';
import { Cluster } from '../postgres/cluster.ts';
import { environmentWith, type ServiceProcess, startServiceProcess } from '../postgres/service-process.ts';
import { type Model, startModel } from './model.ts';

/** Items of the queue of each subject. */
export const itemsEach = 500;

/** Somebody with a token of their own, an account of the service, and a project. */
export interface Subject {
  name: Machine;
  account: string;
  project: string;
  /** May call only what changes nothing. */
  readsOnly: boolean;
  token: string;
  credentials: Account;
}

/** Everything that runs. It ends with the test. */
export interface Machines {
  databaseUrl: string;
  services: [ServiceProcess, ServiceProcess];
  servers: [HttpProcess, HttpProcess];
  /** The endpoint, behind its balancer. */
  url: URL;
  /** Base URL of the service, behind its own. */
  serviceUrl: string;
  fetch: typeof fetch;
  subjects: Subject[];
  model: Model;
}

const names: Machine[] = ['machine-a', 'machine-b', 'writer', 'reader'];

/** Two servers and two services, each behind nginx, on one PostgreSQL, with tokens of an authorization server. */
export async function startMachines(): Promise<Machines> {
  const database = await Cluster.make();
  onTestFinished(() => database.remove());
  const stored = { HEDDLE_DATABASE_URL: database.url };
  const model = await startModel();
  const start = () => startServiceProcess({ ...stored, HEDDLE_UPSTREAM_URL: model.url });
  const services: Machines['services'] = [await start(), await start()];
  const serviceUrl = (await startServiceBalancer([services[0].url, services[1].url])).origin;

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
      credentials: { ...(await addAccount(account, environmentWith(stored))), baseUrl: serviceUrl, project },
    });
  }
  const { environment, subjectsFile } = await setUpProfiles(
    Object.fromEntries(subjects.map(({ name, credentials }) => [`of-${name}`, credentials])),
    Object.fromEntries(subjects.map(({ name }) => [name, `of-${name}`])),
  );
  const flags = ['--oauth-issuer', authorization.issuer, '--public-url', url.href, '--subjects', subjectsFile];
  const servers: Machines['servers'] = [await startHttp(flags, environment), await startHttp(flags, environment)];
  await startBalancer([servers[0].url, servers[1].url], port);
  return { databaseUrl: database.url, services, servers, url, serviceUrl, fetch: trustingFetch(), subjects, model };
}

/** Every project has the same queue, calls and names; only what they say is their subject's. */
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
