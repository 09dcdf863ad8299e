import { createServer } from 'node:http';
import { listen } from '../core/http/listen.ts';
import { accessChecks } from '../mcp/http/access.ts';
import { refuse } from '../mcp/http/answer.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/**
 * Serves `GET /metrics` on a port of its own, so that what may read the numbers need not be what may call the tools.
 * Like there, a request is served only under a host that is known: a web page cannot read it through a rebound name.
 * It ends with the process, so that the last calls are counted too.
 * @returns the address of the page.
 * @throws Error when it cannot listen.
 */
export async function serveMetrics(
  metrics: Metrics,
  { host, port, allowedHosts }: { host: string; port: number; allowedHosts: readonly string[] },
): Promise<string> {
  const access = accessChecks({ allowedHosts: [...allowedHosts, host], allowedOrigins: [] });
  const server = createServer(async (request, response) => {
    request.resume();
    const elsewhere = access.host(request) ?? access.origin(request);
    if (elsewhere) return refuse(request, response, elsewhere);
    if (request.url?.split('?')[0] !== '/metrics') {
      return refuse(request, response, { status: 404, message: 'Not found: the numbers are at /metrics' });
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      const headers = { allow: 'GET, HEAD' };
      return refuse(request, response, { status: 405, message: 'Method not allowed: send GET', headers });
    }
    const { contentType, text } = await metrics.read();
    response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' }).end(text);
  });
  server.maxConnections = 64;
  const url = await listen(server, port, host);
  // It is there for the process, and not the other way round.
  server.unref();
  return `${url}/metrics`;
}
