const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Returns true for a host, as `URL.hostname` spells it, that names this machine on every machine. */
export function isLoopbackHost(hostname: string): boolean {
  return loopback.test(hostname);
}
