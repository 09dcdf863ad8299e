import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Refusal } from '../core/http/refusal.ts';
import { JsonLimitError, parseJsonText } from '../core/json/parse-json.ts';

/** Characters of a result that a page may get at least: the limit of the settings is for models, which read it whole. */
export const minResultChars = 4_000_000;

/** Headers of every response to a page. */
export const securityHeaders = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Returns a policy that lets only the script and the style of the page itself run, and lets it reach only its server. */
export function contentPolicy(html: string): string {
  const hashOf = (tag: string): string => {
    const text = html.slice(html.indexOf(`<${tag}>`) + tag.length + 2, html.indexOf(`</${tag}>`));
    return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  };
  return [
    "default-src 'none'",
    `script-src ${hashOf('script')}`,
    `style-src ${hashOf('style')}`,
    "connect-src 'self'",
    // The mark is in the style.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/**
 * Parses the body of a request of a page.
 * @throws Refusal 400 for anything but a JSON object.
 */
export function parsePageBody(bytes: Buffer): object {
  let body: unknown;
  try {
    body = parseJsonText(bytes.toString('utf8'));
  } catch (error) {
    throw new Refusal(400, error instanceof JsonLimitError ? `The body is ${error.message}` : 'The body is not JSON');
  }
  if (typeof body !== 'object' || body === null) throw new Refusal(400, 'The body is not a JSON object');
  return body;
}

/** Sends a text, or only its headers if they are asked for. */
export function send(response: ServerResponse, type: string, text: string): void {
  response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
  response.end(response.req.method === 'HEAD' ? undefined : text);
}
