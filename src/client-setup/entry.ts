/** Members of one server in the configuration file of a client. */
export type Entry = Record<string, unknown>;

/** Members that hold the servers by name. */
export type ServersMember = 'mcpServers' | 'servers' | 'mcp_servers' | 'mcp' | 'context_servers';

/** A change to one server of a client's configuration file. */
export interface Edit {
  format: 'json' | 'toml';
  servers: ServersMember;
  name: string;
  /** Entry to write; undefined removes the server. */
  entry: Entry | undefined;
}

/** Returns true for two entries of the same kind, one that the client starts itself or one with an address. */
export function isSameKind(existing: unknown, entry: Entry): existing is Record<string, unknown> {
  return typeof existing === 'object' && existing !== null && 'command' in existing === 'command' in entry;
}
