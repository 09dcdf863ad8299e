import { type Arguments, type Host, type HostEvents, postJson, ToolFailure, type ToolResult } from '../shared/host.ts';

/** Time between two questions whether the person is still logged in, in milliseconds. */
const checkMs = 30_000;

const loggedOut = 'You are logged out. Open the board in another tab and log in, then try again here.';

interface Session {
  account: string;
  project: string;
  arguments: Arguments;
  /** The projects that the account sees, if they were asked for. */
  projects?: string[];
}

/** Connects the page to a server that shows it to people who log in. Its cookie is out of reach of this script. */
export class HostedConnection {
  /** The projects that the person sees besides the one that is shown. */
  otherProjects: readonly string[] = [];
  /** True if the person may not see the project that the address names. */
  isRefused = false;
  #account: string | undefined;
  #isConnected = false;

  /** Begins the session, or goes to the page for logging in. A page whose session ends goes on with the next one of the same account. */
  connect(events: HostEvents): Host {
    const start = async (): Promise<void> => {
      const {
        account,
        project,
        projects = [],
        arguments: args,
      } = await this.#send<Session>('session', { projects: true });
      this.#account = account;
      this.#isConnected = true;
      this.otherProjects = projects.filter((other) => other !== project);
      showInAddress('project', project);
      events.context({ locale: navigator.language });
      events.input(args);
      setInterval(() => void this.#check(events), checkMs);
    };
    start().catch(({ code, message }: ToolFailure) => {
      this.isRefused = code === 'refused';
      if (code === 'logged_out') location.replace(`login${location.search}`);
      else events.failed(message || 'The server does not answer. Try again later.');
    });
    return {
      isChat: false,
      hasTerminal: false,
      callTool: (name, args) => this.#send<ToolResult>('call', { name, arguments: args, account: this.#account }),
      tellModel: async () => {},
    };
  }

  /** Logs the person out; what is not written stays in this browser. */
  async logOut(): Promise<void> {
    await this.#send('logout', {});
    location.replace('login');
  }

  async #check(events: HostEvents): Promise<void> {
    const { account } = await this.#send<Partial<Session>>('session', {}).catch(() => ({ account: undefined }));
    const isConnected = account === this.#account;
    if (isConnected && !this.#isConnected) events.resumed('You can go on.');
    if (!isConnected && this.#isConnected) {
      events.ended(
        'The server does not answer, or you are logged out.',
        'Open the board in another tab and log in as before.',
      );
    }
    this.#isConnected = isConnected;
  }

  async #send<Answer>(path: string, body: object): Promise<Answer> {
    const response = await postJson(path + location.search, body).catch(() => {
      throw new ToolFailure('network', '');
    });
    if (response.ok) return response.json();
    if (response.status === 401) throw new ToolFailure('logged_out', '', loggedOut);
    const { error = `HTTP ${response.status}` } = (await response.json().catch(() => ({}))) as { error?: string };
    throw new ToolFailure(response.status === 503 ? 'service_unavailable' : 'refused', error);
  }
}

/** Has the address name the project or the queue that is shown, so that a reload, every request and a bookmark do. */
export function showInAddress(name: 'project' | 'queue', value: string): void {
  const query = new URLSearchParams(location.search);
  if (query.get(name) === value) return;
  query.set(name, value);
  history.replaceState(null, '', `?${query}`);
}
