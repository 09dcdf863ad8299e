import { onTestFinished, vi } from 'vitest';
import { type Answer, temporaryData, withStore } from './embedded-service.ts';
import { installedPath, requireFrom } from './outside-programs.ts';
import { RestartableService } from './restartable-service.ts';

/** True if the public service's own SDK is installed. */
export const hasWeaveSdk = installedPath('weave-sdk', 'weave') !== undefined;

// biome-ignore lint/suspicious/noExplicitAny: its types exist only where it is installed
type Sdk = any;

/** The project that the tests record into. */
export const sdkProject = 'team/support';

/** The SDK, connected to a service with an account of its own. */
export interface ConnectedSdk {
  weave: Sdk;
  client: Sdk;
  /** File of the service's data. */
  data: string;
  service: RestartableService;
  /** The Authorization header of the SDK's account. */
  authorization: string;
  password: string;
  /** Sends a request to an operation as the account of the SDK, in its project. */
  post: (path: string, body: object) => Promise<Answer>;
  /** Starts the service once more on the same data and connects the SDK to it. */
  connectAgain: () => Promise<ConnectedSdk>;
}

/** Starts the service on empty data, and connects the SDK to it with the two variables that its users set. */
export async function connectSdk(): Promise<ConnectedSdk> {
  const data = await temporaryData();
  const { password } = await withStore(data, (store) => store.addUser('ada', [sdkProject]));
  return connect(data, password);
}

async function connect(data: string, password: string): Promise<ConnectedSdk> {
  const service = await RestartableService.on(data);
  vi.stubEnv('WF_TRACE_SERVER_URL', service.url);
  vi.stubEnv('WANDB_API_KEY', password);
  vi.stubEnv('WANDB_BASE_URL', undefined);
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  onTestFinished(() => {
    vi.unstubAllEnvs();
    log.mockRestore();
  });
  const weave: Sdk = requireFrom('weave-sdk')('weave');
  const client = await weave.init(sdkProject);
  const authorization = `Basic ${btoa(`api:${password}`)}`;
  const post = async (path: string, body: object) => {
    const response = await fetch(service.url + path, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ project_id: sdkProject, ...body }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
  return { weave, client, data, service, authorization, password, post, connectAgain: () => connect(data, password) };
}
