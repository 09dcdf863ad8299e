/** The result of a tool call: its data, or the error of heddle or of the host. */
export type ToolResult = { data: object } | { error: { code: string; message: string } };

export interface HostContext {
  theme?: string;
  locale?: string;
  timeZone?: string;
  styles?: { variables?: Record<string, string | undefined> };
}

export type Arguments = Record<string, unknown>;

/** Time without a response after which the page says that it is waiting. */
export const slowResponseMs = 5000;

/** The program around the page: a chat, or the browser with a command of heddle. */
export interface Host {
  /** True in a chat, where the model can learn what the person did. */
  isChat: boolean;
  /** False where people were invited to a server, and have no terminal with heddle. */
  hasTerminal: boolean;
  callTool: (name: string, args: Arguments) => Promise<ToolResult>;
  /** Tells the model of the chat, with its next turn. Each time replaces the last. */
  tellModel: (text: string) => Promise<void>;
}

/** The messages of a host to the page. */
export interface HostEvents {
  /** The arguments with which the tool was called. */
  input: (args: Arguments) => void;
  result: (result: ToolResult) => void;
  cancelled: () => void;
  context: (context: HostContext) => void;
  /** The host has not answered for some seconds; it may still do so. */
  silent: () => void;
  /** The page cannot work at all, for the reason that the sentence says. */
  failed: (sentence: string) => void;
  /** The program around the page has ended, or no longer knows the page: what happened, and what to do, as sentences. */
  ended: (happened: string, next: string) => void;
  /** It knows the page again, as the sentence says. */
  resumed: (sentence: string) => void;
}

/** Returns the storage that survives the page; undefined where the browser allows none, as in the frames of some chats. */
export function lastingStorage(): Storage | undefined {
  try {
    return window.localStorage;
  } catch {
    return undefined;
  }
}

/** Keeps a value in the browser beyond the page, and returns whether it could: it may allow nothing, or have no room. */
export function keepValue(key: string, value: string): boolean {
  try {
    window.localStorage.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

/** Sends a request with a JSON body to the server of this page. */
export function postJson(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** A failure to say in words. `code` is an error code of heddle, or that of a host, which can say it itself in a `sentence`. */
export class ToolFailure extends Error {
  readonly code: string;
  readonly sentence: string | undefined;

  constructor(code: string, message: string, sentence?: string) {
    super(message);
    this.code = code;
    this.sentence = sentence;
  }
}

/**
 * Returns the data of a tool result.
 * @throws ToolFailure for an error result.
 */
export function dataOf<Data>(result: ToolResult): Data {
  if ('data' in result) return result.data as Data;
  throw new ToolFailure(result.error.code, result.error.message);
}
