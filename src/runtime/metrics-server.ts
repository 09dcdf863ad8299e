import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { createHttpServer } from '../core/http/http-server.ts';
import { listen } from '../core/http/listen.ts';
import { Refusal } from '../core/http/refusal.ts';
import type { Log } from '../core/log.ts';
import { AccessChecks, checkMethod } from '../mcp/http/guard.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { listenAt } from './process-lifecycle.ts';

export interface MetricsOptions {
  host: string;
  port: number;
  allowedHosts: readonly string[];
  /** Gets a line with the address. */
  stderr: Writable;
  log: Log;
  end: AbortSignal;
}

/**
 * Serves `GET /metrics` on a port of its own, because its readers need not be allowed to call tools. A request must name a
 * known host, so that a web page cannot read it through a rebound name. It ends with the process, or when `end` aborts.
 * @param tools names of the tools on offer.
 */
export async function startMetrics(
  tools: readonly string[],
  { host, port, allowedHosts, stderr, log, end }: MetricsOptions,
): Promise<Metrics> {
  const metrics = createMetrics(tools);
  const access = new AccessChecks([...allowedHosts, host], []);
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    request.resume();
    access.checkHost(request);
    access.checkOrigin(request);
    if (request.url?.split('?')[0] !== '/metrics') throw new Refusal(404, 'Not found: the metrics are at /metrics');
    checkMethod(request, 'GET', 'HEAD');
    const { contentType, text } = await metrics.read();
    response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' }).end(text);
  };
  const server = createHttpServer(serve, { limits: { maxConnections: 64 }, errorBody: (error) => ({ error }), log });
  const url = await listenAt(listen(server, port, host), host, port, '--metrics-port or --metrics-host');
  // A process whose MCP server cannot start must still end.
  server.unref();
  end.addEventListener('abort', () => server.close());
  stderr.write(`metrics on ${url}/metrics\n`);
  return metrics;
}
