import type { Server } from '@modelcontextprotocol/server';
import { ResourceWatch } from '../../src/mcp/resource-watch.ts';
import type { ServerFactory } from '../../src/mcp/server.ts';

/** Makes a factory of servers whose resources never change. */
export function serverFactoryOf(create: () => Server): ServerFactory {
  const options = { service: () => Promise.reject(new Error('no service')), log: () => {} };
  return Object.assign(create, { watch: (onChange: (uri: string) => void) => new ResourceWatch(options, onChange) });
}
