import { createServer, type IncomingMessage } from 'node:http';
import { listen } from '../core/http/listen.ts';
import { Refusal } from '../core/http/refusal.ts';
import { AccessChecks } from '../mcp/http/access.ts';
import { sendRefusal } from '../mcp/http/responses.ts';
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
  const access = new AccessChecks({ allowedHosts: [...allowedHosts, host], allowedOrigins: [] });
  const server = createServer(async (request, response) => {
    request.resume();
    try {
      access.checkHost(request);
      access.checkOrigin(request);
      checkTarget(request);
      const { contentType, text } = await metrics.read();
      response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' }).end(text);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      sendRefusal(request, response, error);
    }
  });
  server.maxConnections = 64;
  const url = await listen(server, port, host);
  // It is there for the process, and not the other way round.
  server.unref();
  return `${url}/metrics`;
}

/** @throws Refusal 404 or 405 for a request that does not read the page. */
function checkTarget({ url, method }: IncomingMessage): void {
  if (url?.split('?')[0] !== '/metrics') throw new Refusal(404, 'Not found: the numbers are at /metrics');
  if (method === 'GET' || method === 'HEAD') return;
  throw new Refusal(405, 'Method not allowed: send GET', { headers: { allow: 'GET, HEAD' } });
}
