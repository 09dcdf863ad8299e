import { createServer } from 'node:http';
import { listen } from '../core/http/listen.ts';
import { Refusal } from '../core/http/refusal.ts';
import { accessChecks } from '../mcp/http/access.ts';
import { refuse } from '../mcp/http/answer.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/**
 * Serves `GET /metrics` on a port of its own, so that access to the metrics does not give access to the tools. It runs until
 * the process ends, so that the last calls are counted too.
 * @returns the URL of the metrics.
 * @throws Error when it cannot listen.
 */
export async function serveMetrics(
  metrics: Metrics,
  { host, port, allowedHosts }: { host: string; port: number; allowedHosts: readonly string[] },
): Promise<string> {
  const access = accessChecks({ allowedHosts: [...allowedHosts, host], allowedOrigins: [] });
  const server = createServer(async (request, response) => {
    request.resume();
    const refusal = access.host(request) ?? access.origin(request) ?? checkRequest(request.url, request.method);
    if (refusal) return refuse(request, response, refusal);
    const { contentType, text } = await metrics.read();
    response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' }).end(text);
  });
  server.maxConnections = 64;
  const url = await listen(server, port, host);
  // The metrics must not keep the process alive.
  server.unref();
  return `${url}/metrics`;
}

function checkRequest(url: string | undefined, method: string | undefined): Refusal | undefined {
  if (url?.split('?')[0] !== '/metrics') return new Refusal(404, 'Not found: the metrics are at /metrics');
  if (method === 'GET' || method === 'HEAD') return undefined;
  return new Refusal(405, 'Method not allowed: send GET', { headers: { allow: 'GET, HEAD' } });
}
