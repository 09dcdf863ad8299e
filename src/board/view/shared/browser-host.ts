import type { Arguments, Host, HostEvents, ToolResult } from './host.ts';
import { ToolFailure } from './host.ts';

const sessionKey = 'heddle-session';

interface Session {
  session: string;
  arguments: Arguments;
}

/** Connects to the command that served this page. */
export function connectToBoardServer(events: HostEvents): Host {
  let session: string | undefined;
  const send = async <Answer>(path: string, body: object): Promise<Answer> => {
    const response = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(session && { authorization: `Bearer ${session}` }) },
      body: JSON.stringify(body),
    }).catch(() => {
      throw new ToolFailure('ended', '');
    });
    if (response.status === 401) throw new ToolFailure('session', '');
    if (!response.ok) throw new ToolFailure('host', `HTTP ${response.status}`);
    return response.json();
  };
  const start = async (): Promise<void> => {
    const token = new URLSearchParams(location.hash.slice(1)).get('token');
    // The token counts once, and must not stay in the history of the browser.
    history.replaceState(null, '', location.pathname);
    session = sessionStorage.getItem(sessionKey) ?? undefined;
    const begun = await send<Session>('/session', token ? { token } : {});
    session = begun.session;
    sessionStorage.setItem(sessionKey, session);
    events.context({ locale: navigator.language });
    events.input(begun.arguments);
  };
  start().catch((error: ToolFailure) =>
    events.failed(
      error.code === 'session'
        ? 'This address has been used already. Run the command again.'
        : 'heddle does not answer. Run the command again.',
    ),
  );
  return {
    isChat: false,
    callTool: (name, args) => send<ToolResult>('/call', { name, arguments: args }),
    tellModel: async () => {},
  };
}
