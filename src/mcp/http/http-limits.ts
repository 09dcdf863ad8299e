/** Limits of the HTTP server; times in milliseconds, sizes in bytes. */
export const httpLimits = {
  maxBodyBytes: 4 * 1024 * 1024,
  /** Maximum of all bodies that are being received. */
  maxTotalBodyBytes: 128 * 1024 * 1024,
  maxConnections: 2_048,
  /** Maximum of running calls and open streams together. */
  maxCalls: 256,
  /** Maximum of open subscriptions, which count as calls too. */
  maxSubscriptions: 128,
  /** Time after which a subscription ends and its client must ask again, and so prove again who it is. */
  maxListeningMs: 3_600_000,
  headersTimeoutMs: 10_000,
  /** From the first byte of a request to the last byte of its body. */
  requestTimeoutMs: 30_000,
  /** Interval at which connections are checked for the two timeouts above. */
  timeoutCheckMs: 1_000,
  /** Longest silence while a call runs; proxies take a longer one for a failure. */
  maxSilenceMs: 15_000,
  /** Time without progress after which a client that does not read its response is cut off. */
  stallTimeoutMs: 60_000,
  /** Longer than load balancers usually keep a connection, so that they close it and not this server. */
  idleTimeoutMs: 75_000,
  /** Time for which the result of a readiness check is reused. */
  readinessCacheMs: 1_000,
  readinessTimeoutMs: 3_000,
};
