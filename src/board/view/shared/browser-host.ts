import type { Arguments, Host, HostEvents, ToolResult } from './host.ts';
import { keepValue, lastingStorage, postJson, ToolFailure } from './host.ts';

const sessionKey = 'heddle-session';
/** Time between two questions whether the command still runs, in milliseconds. */
const checkMs = 3000;

const sessionSentence = 'This page belongs to a command that has ended. Open the address that heddle prints now.';

interface Session {
  session: string;
  arguments: Arguments;
}

/**
 * Connects to the command that served this page. All tabs of the browser share its session, which ends with the command; a tab
 * that is still open goes on once another one has a session with the next command at the same address.
 */
export function connectToBoardServer(events: HostEvents): Host {
  let timer: number | undefined;
  let session: string | undefined;
  let hasBegun = false;
  let isConnected = false;
  const send = async <Answer>(path: string, body: object): Promise<Answer> => {
    const headers: Record<string, string> = session ? { authorization: `Bearer ${session}` } : {};
    const response = await postJson(path, body, headers).catch(() => {
      throw new ToolFailure('ended', '', 'heddle has ended. Run the command again in a terminal.');
    });
    if (response.status === 401) throw new ToolFailure('session', '', sessionSentence);
    if (!response.ok) throw new ToolFailure('host', `HTTP ${response.status}`);
    return response.json();
  };
  const begin = async (token?: string | null): Promise<void> => {
    const begun = await send<Session>('/session', token ? { token } : {});
    session = begun.session;
    keepValue(sessionKey, session);
    const wasConnected = isConnected;
    isConnected = true;
    if (hasBegun) {
      if (!wasConnected) events.resumed('heddle runs again. You can go on.');
      return;
    }
    hasBegun = true;
    events.context({ locale: navigator.language });
    events.input(begun.arguments);
  };
  /** Asks whether the command still runs, again and again, until it no longer knows this page. */
  const check = async (): Promise<void> => {
    const asked = session;
    try {
      await begin();
    } catch (error) {
      // Another tab has brought the session of the next command meanwhile.
      if (asked !== session) return;
      if (isConnected) {
        events.ended('heddle has ended.', 'Run the command again and open its address: then this page goes on too.');
      }
      isConnected = false;
      if ((error as ToolFailure).code === 'session') return;
    }
    checkLater();
  };
  const checkLater = (): void => {
    clearTimeout(timer);
    timer = window.setTimeout(check, checkMs);
  };
  const start = async (): Promise<void> => {
    const token = new URLSearchParams(location.hash.slice(1)).get('token');
    // The token must not stay in the history of the browser.
    history.replaceState(null, '', location.pathname + location.search);
    session = lastingStorage()?.getItem(sessionKey) ?? undefined;
    await begin(token);
    checkLater();
  };
  // An address that is opened in this tab changes what is behind the # only.
  window.addEventListener('hashchange', () => location.reload());
  window.addEventListener('storage', ({ key, newValue }) => {
    if (key !== sessionKey || newValue === null || newValue === session) return;
    session = newValue;
    void check();
  });
  start().catch((error: ToolFailure) =>
    events.failed(
      error.code === 'session'
        ? 'This address has been used in another browser, or is of a command that has ended. Open the address that heddle prints now, or run the command again.'
        : 'heddle does not answer. Run the command again.',
    ),
  );
  return {
    isChat: false,
    hasTerminal: true,
    callTool: (name, args) => send<ToolResult>('/call', { name, arguments: args }),
    tellModel: async () => {},
  };
}
