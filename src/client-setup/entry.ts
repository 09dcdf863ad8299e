export interface Entry {
  type?: 'stdio';
  command: string;
  args: string[];
}

/** A change to one server of a client's configuration file. */
export interface Edit {
  format: 'json' | 'toml';
  /** Member that holds the servers by name. */
  servers: string;
  name: string;
  /** Entry to write; undefined removes the server. */
  entry: Entry | undefined;
}

/** Returns true for the entry of a server that the client starts itself. An entry with a URL has no member in common. */
export function isLocalEntry(existing: unknown): existing is Record<string, unknown> {
  return typeof existing === 'object' && existing !== null && 'command' in existing;
}
