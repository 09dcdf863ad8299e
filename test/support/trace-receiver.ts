import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface ReceivedSpan {
  name: string;
  kind: 'server' | 'client' | 'internal';
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  attributes: Record<string, string | number>;
  failed: boolean;
  links: string[];
}

/** A receiver of OTLP over HTTP in JSON. */
export interface Receiver {
  url: string;
  /** In the order in which they ended. */
  spans: ReceivedSpan[];
  /** Returns the bodies of all requests. */
  text: () => string;
  /** Names of the services that sent spans. */
  services: Set<string>;
}

const kinds: Record<number, ReceivedSpan['kind']> = { 1: 'internal', 2: 'server', 3: 'client' };

/** Starts a receiver that stops with the test. */
export async function startReceiver(): Promise<Receiver> {
  const spans: ReceivedSpan[] = [];
  const services = new Set<string>();
  let all = '';
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part;
    all += text;
    for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
      services.add(plain(resource.attributes)['service.name'] as string);
      for (const { spans: received } of scopeSpans) {
        for (const { name, kind, traceId, spanId, parentSpanId, attributes, status, links } of received) {
          spans.push({
            name,
            kind: kinds[kind]!,
            traceId,
            spanId,
            parentSpanId: parentSpanId || undefined,
            attributes: plain(attributes),
            failed: status.code === 2,
            links: (links ?? []).map((link: { spanId: string }) => link.spanId),
          });
        }
      }
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, text: () => all, services };
}

function plain(attributes: { key: string; value: object }[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const [form, inner] = Object.entries(value)[0]!;
      return [key, form === 'intValue' ? Number(inner) : inner];
    }),
  );
}
