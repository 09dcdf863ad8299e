import { errorKey } from '../../error-key.ts';
import type { Arguments, Host, HostContext, HostEvents, ToolResult } from './host.ts';
import { slowResponseMs, ToolFailure } from './host.ts';

/** Revision of the extension that this page speaks. */
const protocolVersion = '2026-01-26';

interface Pending {
  resolve: (result: never) => void;
  reject: (error: ToolFailure) => void;
}

interface Message {
  jsonrpc: '2.0';
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { message?: unknown };
}

/** The result of a tool call, as MCP has it. */
interface CallToolResult {
  content?: { type: string; text?: string }[];
  structuredContent?: object;
  isError?: boolean;
  _meta?: { [errorKey]?: { code: string; message: string } };
}

/** Returns a result in the form of every host. One without data is the chat's own error, which it words as it likes. */
function toToolResult({ content, structuredContent, isError, _meta }: CallToolResult): ToolResult {
  if (!isError && structuredContent !== undefined) return { data: structuredContent };
  const message = content?.find(({ type }) => type === 'text')?.text ?? '';
  return { error: _meta?.[errorKey] ?? { code: 'host', message } };
}

/** Connects to the chat in which this page is a frame. */
export function connectToChat(events: HostEvents): Host {
  const pending = new Map<number | string, Pending>();
  let lastId = 0;
  let context: HostContext = {};
  let canTellModel = false;
  const post = (message: object): void => window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
  const notify = (method: string, params: object = {}): void => post({ method, params });
  const ask = <Result>(method: string, params: object): Promise<Result> => {
    lastId += 1;
    const id = lastId;
    return new Promise<Result>((resolve, reject) => {
      pending.set(id, { resolve, reject });
      post({ id, method, params });
    });
  };
  const silence = setTimeout(() => events.silent(), slowResponseMs);
  const notificationHandlers = new Map<string, (params: never) => void>(
    Object.entries({
      'ui/notifications/tool-input': ({ arguments: args = {} }: { arguments?: Arguments }) => {
        clearTimeout(silence);
        events.input(args);
      },
      'ui/notifications/tool-result': (result: CallToolResult) => {
        clearTimeout(silence);
        events.result(toToolResult(result));
      },
      'ui/notifications/tool-cancelled': () => {
        clearTimeout(silence);
        events.cancelled();
      },
      'ui/notifications/host-context-changed': (changed: HostContext) => {
        context = { ...context, ...changed };
        events.context(context);
      },
    }),
  );
  const receive = ({ id, method, params = {}, result, error }: Message): void => {
    if (method !== undefined) {
      notificationHandlers.get(method)?.(params as never);
      if (id === undefined) return;
      const isKnown = ['ping', 'ui/resource-teardown'].includes(method);
      post(isKnown ? { id, result: {} } : { id, error: { code: -32_601, message: `No method ${method}` } });
      return;
    }
    const waiting = pending.get(id!);
    pending.delete(id!);
    if (error) waiting?.reject(new ToolFailure('host', String(error.message ?? '')));
    else waiting?.resolve(result as never);
  };
  window.addEventListener('message', ({ source, data }: MessageEvent<Message | undefined>) => {
    // Any page can post a message; only the chat counts, and some chats post other things too.
    if (source === window.parent && data?.jsonrpc === '2.0') receive(data);
  });

  const initialize = async (): Promise<void> => {
    const answer = await ask<{ hostContext?: HostContext; hostCapabilities?: Record<string, unknown> }>(
      'ui/initialize',
      {
        appInfo: { name: 'heddle', version: '1' },
        appCapabilities: {},
        protocolVersion,
      },
    );
    canTellModel = answer.hostCapabilities?.updateModelContext !== undefined;
    context = answer.hostContext ?? {};
    events.context(context);
    notify('ui/notifications/initialized');
    reportSize(notify);
  };
  initialize().catch((error: Error) => events.failed(`The chat refused this page: ${error.message}`));
  return {
    isChat: true,
    hasTerminal: true,
    callTool: async (name, args) => toToolResult(await ask('tools/call', { name, arguments: args })),
    tellModel: async (text) => {
      if (!canTellModel) return;
      // A chat that refuses this has still written the judgements.
      await ask('ui/update-model-context', { content: [{ type: 'text', text }] }).catch(() => {});
    },
  };
}

/** Tells the chat how large the page is, now and whenever that changes. */
function reportSize(notify: (method: string, params: object) => void): void {
  let reported = '';
  const report = (): void => {
    const { scrollWidth: width } = document.documentElement;
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    const size = `${width} ${height}`;
    if (size === reported) return;
    reported = size;
    notify('ui/notifications/size-changed', { width, height });
  };
  new ResizeObserver(report).observe(document.body);
  report();
}
