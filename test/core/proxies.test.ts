import { describe, expect, it } from 'vitest';
import { proxyFor, proxyPasswords } from '../../src/core/http/proxies.ts';

const both = { httpProxy: 'http://plain.example:3128', httpsProxy: 'http://secure.example:3129' };

/** Returns the origin of the proxy for an address; undefined for none. */
function originFor(url: string, noProxy = '', proxies: object = both): string | undefined {
  return proxyFor(new URL(url), { ...proxies, noProxy })?.origin;
}

describe('proxyFor', () => {
  it('takes HTTPS_PROXY for https, and HTTP_PROXY for http only', () => {
    expect(originFor('https://service.example')).toBe('http://secure.example:3129');
    expect(originFor('http://service.example')).toBe('http://plain.example:3128');
    expect(originFor('https://service.example', '', { httpProxy: both.httpProxy })).toBeUndefined();
    expect(originFor('http://service.example', '', { httpsProxy: both.httpsProxy })).toBeUndefined();
    expect(originFor('http://service.example', '', { httpProxy: '' })).toBeUndefined();
  });

  it('takes an address without http://', () => {
    expect(originFor('http://service.example', '', { httpProxy: 'plain.example:3128' })).toBe(both.httpProxy);
  });

  it.each(['localhost', '127.0.0.1', '127.8.9.10', '[::1]'])('takes none for %s', (host) => {
    expect([originFor(`http://${host}:8787`), originFor(`https://${host}`)]).toEqual([undefined, undefined]);
  });

  it.each([
    ['*', true],
    ['service.example', true],
    ['SERVICE.example', true],
    ['other.example, service.example', true],
    ['other.example service.example', true],
    ['example', true],
    ['.example', true],
    ['*.example', true],
    ['service.example:443', true],
    ['service.example:8443', false],
    ['ervice.example', false],
    ['service.example.org', false],
    ['sub.service.example', false],
    ['*service', false],
    [',', false],
    [':443', false],
  ])('takes NO_PROXY %s for https://service.example as %s', (noProxy, isCovered) => {
    expect(originFor('https://service.example', noProxy) === undefined).toBe(isCovered);
  });

  it('takes addresses in NO_PROXY, IPv6 with and without brackets', () => {
    expect(originFor('http://10.1.2.3:8080', '10.1.2.3')).toBeUndefined();
    expect(originFor('http://10.1.2.3:8080', '10.1.2.3:80')).toBe(both.httpProxy);
    for (const entry of ['[fd00::1]', 'fd00::1', '[fd00::1]:80']) {
      expect(originFor('http://[fd00::1]', entry)).toBeUndefined();
      expect(originFor('http://[fd00::2]', entry)).toBe(both.httpProxy);
    }
  });

  it('decodes the user name and the password', () => {
    const proxy = proxyFor(new URL('https://service.example'), { httpsProxy: 'http://ada:p%40ss%3A@proxy.example:80' });
    expect(proxy).toEqual({
      origin: 'http://proxy.example',
      authorization: `Basic ${btoa('ada:p@ss:')}`,
      variable: 'HTTPS_PROXY',
      isForwarder: false,
    });
  });

  it.each(['socks5://ada:p4ssword@proxy.example', 'http://ada:p4ssword%@proxy.example', 'http://p4ssword:x:y'])(
    'refuses %s without repeating it',
    (httpsProxy) => {
      expect(() => proxyFor(new URL('https://service.example'), { httpsProxy })).toThrow(
        'HTTPS_PROXY must be an http or https URL, with each % in its password written as %25',
      );
    },
  );
});

describe('proxyPasswords', () => {
  it('lists the decoded passwords', () => {
    const proxies = { httpProxy: 'ada:p%40ss@proxy.example', httpsProxy: 'http://ada:other@proxy.example' };
    expect(proxyPasswords(proxies)).toEqual(['p@ss', 'other']);
  });

  it('is empty without proxies, and skips what is not a URL', () => {
    expect(proxyPasswords({ httpProxy: 'http://x:y:z' })).toEqual([]);
  });
});
