import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { startServer } from './client.ts';

// biome-ignore lint/suspicious/noExplicitAny: results of every shape
export type Json = any;

/** Starts a server in this process, and sends it raw requests of revision 2026-07-28 as a client with some capabilities. */
export async function connectRaw(environment: Record<string, string>, capabilities: object) {
  const near = startServer(environment).open();
  const waiting = new Map<unknown, (message: Json) => void>();
  near.onmessage = (message: JSONRPCMessage) => {
    // As over a wire: members that are undefined are not sent.
    const received: Json = JSON.parse(JSON.stringify(message));
    waiting.get(received.id)?.(received);
  };
  await near.start();
  let id = 0;
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const send = (method: string, params: object): Promise<Json> => {
    id += 1;
    const answered = new Promise((resolve) => waiting.set(id, resolve));
    void near.send({ jsonrpc: '2.0', id, method, params: { ...params, _meta: envelope } });
    return answered;
  };
  const call = (name: string, args: object) => send('tools/call', { name, arguments: args });
  /** Reads a task until it is in one of the statuses. */
  const settle = async (taskId: string, ...statuses: string[]): Promise<Json> => {
    for (;;) {
      const { result } = await send('tasks/get', { taskId });
      if (statuses.includes(result.status)) return result;
      // The server is in this process, and its work needs turns.
      await nextTurn();
    }
  };
  return { send, call, settle };
}
