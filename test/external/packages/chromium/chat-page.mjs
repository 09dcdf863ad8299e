// A chat client in a web page: connects to an MCP server over HTTP and shows the View of a tool with AppBridge. Tests drive
// it through `window.chat`.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  AppBridge,
  buildAllowAttribute,
  getToolUiResourceUri,
  isToolVisibilityAppOnly,
  PostMessageTransport,
  RESOURCE_MIME_TYPE,
} from '@modelcontextprotocol/ext-apps/app-bridge';

const info = { name: 'test-chat', version: '1.0.0' };
const extension = 'io.modelcontextprotocol/ui';
// The policy that the extension prescribes where a View declares nothing.
const policy =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'";

const chat = {
  /** Texts that the View sent to the model. */
  modelContext: [],
  /** Tool calls of the View. */
  calls: [],
  sizes: [],
  times: {},
  client: undefined,
  last: undefined,
  bridge: undefined,

  /** Connects to a server. `era` is `legacy` or `auto`. */
  async connect(url, era) {
    const client = new Client(info, {
      capabilities: { extensions: { [extension]: { mimeTypes: [RESOURCE_MIME_TYPE] } } },
      versionNegotiation: { mode: era },
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    chat.client = client;
    return { version: client.getNegotiatedProtocolVersion?.(), extensions: client.getServerCapabilities().extensions };
  },

  /** Calls a tool as the model would, and shows its View. */
  async open(name, args, options = {}) {
    const startedAt = performance.now();
    const { tools } = await chat.client.listTools();
    const listedAt = performance.now();
    const tool = tools.find((each) => each.name === name);
    if (isToolVisibilityAppOnly(tool)) throw new Error('the tool is hidden from models');
    const uri = getToolUiResourceUri(tool);
    const { resources } = await chat.client.listResources();
    const { contents } = await chat.client.readResource({ uri });
    const result = await chat.client.callTool({ name, arguments: args });
    chat.times = { list: listedAt - startedAt, listedAt };
    chat.last = { args, result, html: contents[0].text, ui: contents[0]._meta.ui, options };
    await chat.mount();
    return { uri, listed: resources.find((each) => each.uri === uri), mimeType: contents[0].mimeType, result };
  },

  /** Mounts the View of the last call, with its old result. */
  async mount() {
    const { args, result, html, ui, options } = chat.last;
    const frame = chat.createFrame(html, ui);
    if (options.silent) return;
    const { hostContext = {}, capabilities = {} } = options;
    const bridge = new AppBridge(
      chat.client,
      info,
      {
        serverTools: {},
        serverResources: {},
        logging: {},
        updateModelContext: { text: {}, structuredContent: {} },
        ...capabilities,
      },
      { hostContext: { displayMode: 'inline', platform: 'web', ...hostContext } },
    );
    chat.bridge = bridge;
    const initialized = new Promise((resolve) => bridge.addEventListener('initialized', resolve));
    bridge.addEventListener('sizechange', (size) => {
      chat.sizes.push(size);
      if (size.height) frame.style.height = `${size.height + 2}px`;
    });
    bridge.onupdatemodelcontext = async ({ content }) => {
      chat.modelContext.push(content[0].text);
      return {};
    };
    await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
    // The bridge has set its own, which only forwards.
    const forward = bridge.oncalltool;
    bridge.oncalltool = async (params, extra) => {
      chat.calls.push(params);
      if (options.refuseCalls) throw new Error('The user declined');
      return forward ? forward(params, extra) : chat.client.callTool(params);
    };
    await initialized;
    await bridge.sendToolInput({ arguments: args });
    chat.times.sentAt = performance.now();
    if (options.cancelled) await bridge.sendToolCancelled({ reason: 'stopped' });
    else await bridge.sendToolResult(result);
  },

  createFrame(html, ui) {
    document.querySelector('iframe')?.remove();
    const frame = document.createElement('iframe');
    frame.title = 'Board';
    frame.sandbox = 'allow-scripts';
    frame.allow = buildAllowAttribute(ui.permissions);
    frame.style.cssText = 'width:100%;height:600px;border:0';
    frame.srcdoc = html.replace('<head>', `<head><meta http-equiv="Content-Security-Policy" content="${policy}">`);
    document.body.append(frame);
    return frame;
  },
};
window.chat = chat;
