/** The result of a tool call, as MCP has it. */
export interface ToolResult {
  content?: { type: string; text?: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

export interface HostContext {
  theme?: string;
  locale?: string;
  timeZone?: string;
  styles?: { variables?: Record<string, string | undefined> };
}

export type Arguments = Record<string, unknown>;

/** The program around the page: a chat, or the browser with a command of heddle. */
export interface Host {
  /** True in a chat, whose model can be told what the person did. */
  isChat: boolean;
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
}

/** A failure to say in words. `code` is an error code of heddle, or `host` if the host failed. */
export class ToolFailure extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Returns the data of a tool result.
 * @throws ToolFailure for an error result.
 */
export function dataOf<Data>({ content, structuredContent, isError }: ToolResult): Data {
  const text = content?.find(({ type }) => type === 'text')?.text ?? '';
  if (!isError && structuredContent !== undefined) return structuredContent as Data;
  const [message = '', , json = ''] = text.split('\n');
  let code = 'host';
  try {
    code = String(JSON.parse(json).code);
  } catch {
    // A host wraps errors as it likes.
  }
  throw new ToolFailure(code, message);
}
