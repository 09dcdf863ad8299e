import type { Arguments, Host, HostEvents, ToolResult } from './host.ts';
import { keepValue, lastingStorage, ToolFailure } from './host.ts';

const sessionKey = 'heddle-session';
/** Time between two questions whether the command still runs, in milliseconds; a shared server is asked less often. */
const checkMs = 3000;
const hostedCheckMs = 30_000;

/** True if a shared server shows the page to people who log in; a command shows it to its own user at the root. */
const isHosted = (globalThis.location?.pathname ?? '/') !== '/';

interface Session {
  arguments: Arguments;
  /** The secret of the session with a command. A shared server has a cookie instead. */
  session?: string;
  /** Account that is logged in to a shared server, and the project that it shows. */
  account?: string;
  project?: string;
}

/** What the page says when it cannot go on. */
const sentences = isHosted
  ? {
      ended: [
        'The server does not answer, or you are logged out.',
        'Open the board in another tab and log in as before.',
      ],
      resumed: 'You can go on.',
      session: 'You are logged out.',
      silent: 'The server does not answer. Try again later.',
    }
  : {
      ended: ['heddle has ended.', 'Run the command again and open its address: then this page goes on too.'],
      resumed: 'heddle runs again. You can go on.',
      session:
        'This address has been used in another browser, or is of a command that has ended. Open the address that heddle prints now, or run the command again.',
      silent: 'heddle does not answer. Run the command again.',
    };

/**
 * Connects to the server of this page: a command, or a server that people log in to. All tabs of the browser share its session; a tab
 * that is still open when the session ends goes on once another one has the next session.
 */
export function connectToBoardServer(events: HostEvents): Host {
  let timer: number | undefined;
  let session: string | undefined;
  let account: string | undefined;
  let hasBegun = false;
  let isConnected = false;
  const send = async <Answer>(path: string, body: object): Promise<Answer> => {
    const response = await fetch(path + location.search, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(session && { authorization: `Bearer ${session}` }) },
      body: JSON.stringify(body),
    }).catch(() => {
      throw new ToolFailure(isHosted ? 'network' : 'ended', '');
    });
    if (response.status === 401) throw new ToolFailure(isHosted ? 'logged_out' : 'session', '');
    if (response.ok) return response.json();
    if (!isHosted) throw new ToolFailure('host', `HTTP ${response.status}`);
    const { error = `HTTP ${response.status}` } = (await response.json().catch(() => ({}))) as { error?: string };
    throw new ToolFailure(response.status === 503 ? 'service_unavailable' : 'refused', error);
  };
  const begin = async (token?: string | null): Promise<void> => {
    const begun = await send<Session>('session', token ? { token } : {});
    account ??= begun.account;
    if (begun.account !== account) throw new ToolFailure('refused', 'This browser is now logged in as someone else.');
    if (begun.project !== undefined) showProject(begun.project);
    if (begun.session !== undefined) {
      session = begun.session;
      keepValue(sessionKey, session);
    }
    const wasConnected = isConnected;
    isConnected = true;
    if (hasBegun) {
      if (!wasConnected) events.resumed(sentences.resumed);
      return;
    }
    hasBegun = true;
    events.context({ locale: navigator.language });
    events.input(begun.arguments);
  };
  /** Asks whether the server still knows this page, again and again; a command that no longer does never will. */
  const check = async (): Promise<void> => {
    const asked = session;
    try {
      await begin();
    } catch (error) {
      // Another tab has brought the session of the next command meanwhile.
      if (asked !== session) return;
      const [happened = '', next = ''] = sentences.ended;
      if (isConnected) events.ended(happened, next);
      isConnected = false;
      if ((error as ToolFailure).code === 'session') return;
    }
    checkLater();
  };
  const checkLater = (): void => {
    clearTimeout(timer);
    timer = window.setTimeout(check, isHosted ? hostedCheckMs : checkMs);
  };
  const start = async (): Promise<void> => {
    const token = new URLSearchParams(location.hash.slice(1)).get('token');
    // The token must not stay in the history of the browser.
    history.replaceState(null, '', location.pathname + location.search);
    if (!isHosted) session = lastingStorage()?.getItem(sessionKey) ?? undefined;
    await begin(token);
    checkLater();
  };
  window.addEventListener('storage', ({ key, newValue }) => {
    if (isHosted || key !== sessionKey || newValue === null || newValue === session) return;
    session = newValue;
    void check();
  });
  start().catch(({ code, message }: ToolFailure) => {
    if (code === 'logged_out') location.replace(`login${location.search}`);
    else events.failed(code === 'session' ? sentences.session : message || sentences.silent);
  });
  return {
    isChat: false,
    callTool: (name, args) => send<ToolResult>('call', { name, arguments: args, ...(account && { account }) }),
    tellModel: async () => {},
    ...(isHosted && {
      logOut: async () => {
        await send('logout', {});
        location.replace('login');
      },
    }),
  };
}

/** Has the address name the project that is shown, so that every request does, and a bookmark. */
function showProject(project: string): void {
  const query = new URLSearchParams(location.search);
  if (query.get('project') === project) return;
  query.set('project', project);
  history.replaceState(null, '', `?${query}`);
}
