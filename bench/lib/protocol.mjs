// A minimal MCP client by hand, so the bench measures the server and not a client library.
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { Pool } from 'undici';
import { start, stop } from './processes.mjs';

const protocolVersion = '2025-11-25';
const initialize = {
  protocolVersion,
  capabilities: {},
  clientInfo: { name: 'bench', version: '1.0.0' },
};

/** A server on stdin and stdout. */
export class StdioConnection {
  #waiting = new Map();
  #parts = [];
  #nextId = 1;

  constructor(args, env) {
    this.child = start(args, env, ['pipe', 'pipe', process.env.BENCH_DEBUG ? 'inherit' : 'ignore']);
    this.child.stdout.on('data', (chunk) => this.#take(chunk));
    this.child.once('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the server ended'));
    });
    this.child.stdin.on('error', () => {});
  }

  #take(chunk) {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      this.#parts.push(chunk.subarray(from, end));
      const message = JSON.parse(Buffer.concat(this.#parts).toString());
      this.#parts = [];
      from = end + 1;
      const waiting = this.#waiting.get(message.id);
      if (!waiting || message.method) continue;
      this.#waiting.delete(message.id);
      if (message.error) waiting.reject(new Error(JSON.stringify(message.error)));
      else waiting.resolve(message.result);
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from));
  }

  request(method, params) {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  }

  initialize() {
    return this.request('initialize', initialize);
  }

  initialized() {
    this.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }

  call(name, args) {
    return this.request('tools/call', { name, arguments: args });
  }

  /** Closes the server's input, as clients do. */
  async close() {
    this.child.stdin.end();
    await Promise.race([once(this.child, 'exit'), setTimeout(100)]);
    await stop(this.child);
  }
}

/** The metadata that each request of revision 2026-07-28 carries. */
const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A server on Streamable HTTP, called without a session. */
export class HttpConnection {
  #pool;
  #path;
  #nextId = 1;

  constructor(url, child, revision = protocolVersion) {
    const { origin, pathname } = new URL(url);
    this.revision = revision;
    this.child = child;
    this.#pool = new Pool(origin, { connections: 32 });
    this.#path = pathname;
  }

  async request(method, given) {
    const isNew = this.revision > protocolVersion;
    const params = isNew ? { ...given, _meta: envelope } : given;
    const { statusCode, headers, body } = await this.#pool.request({
      method: 'POST',
      path: this.#path,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': this.revision,
        ...(isNew && { 'mcp-method': method, ...(params.name && { 'mcp-name': params.name }) }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: this.#nextId++, method, params }),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`HTTP ${statusCode}: ${text}`);
    const streamed = headers['content-type'].startsWith('text/event-stream');
    const message = JSON.parse(streamed ? /^data: (.+)$/m.exec(text)[1] : text);
    if (message.error) throw new Error(JSON.stringify(message.error));
    return message.result;
  }

  initialize() {
    return this.request('initialize', initialize);
  }

  initialized() {}

  call(name, args) {
    return this.request('tools/call', { name, arguments: args });
  }

  async close() {
    await this.#pool.destroy();
    await stop(this.child);
  }
}

/** Returns the result of a call; throws if the call failed. */
export function successOf(result) {
  if (result.isError) throw new Error(`the call failed: ${JSON.stringify(result.content)}`);
  return result;
}
