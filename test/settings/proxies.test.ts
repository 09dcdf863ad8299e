import { describe, expect, it } from 'vitest';
import { createClient } from '../../src/library.ts';
import { resolveSettings } from '../../src/settings/resolve-settings.ts';
import { startFakeService } from '../support/fake-service.ts';
import { emptyHome, noFolders, run, temporaryFolder } from '../support/heddle.ts';
import { startRecordingProxy } from '../support/recording-proxy.ts';
import { startToolServer } from '../support/tool-server.ts';

describe('HTTPS_PROXY, HTTP_PROXY and NO_PROXY', () => {
  it('are settings whose names in lower case take precedence', () => {
    const environment = { HTTPS_PROXY: 'http://upper.example', https_proxy: 'http://lower.example', NO_PROXY: '*' };
    const { values, sources } = resolveSettings({ flags: {}, environment, folders: noFolders, profiles: {} });
    expect([values.httpsProxy, values.httpProxy, values.noProxy]).toEqual(['http://lower.example', undefined, '*']);
    expect([sources.httpsProxy.name, sources.noProxy.name]).toEqual(['https_proxy', 'NO_PROXY']);
  });

  it('show in `heddle status` without the password', async () => {
    const environment = emptyHome(temporaryFolder(), { HTTPS_PROXY: 'http://ada:p4ssword@proxy.example' });
    const { code, stdout } = await run(['status', '--json'], environment);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).secrets.https_proxy).toEqual({ source: 'environment', name: 'HTTPS_PROXY' });
    expect(stdout).not.toContain('p4ssword');
  });

  it('keep tool calls from the service only if they cannot be used, and say so without the password', async () => {
    const unusable = { HTTPS_PROXY: 'socks5://ada:p4ssword@proxy.example' };
    const { call } = await startToolServer('https://service.example', unusable);
    const outcome = await call('list_queues', { project_id: 'a/b' });
    expect(outcome).toMatchObject({ code: 'network', hint: expect.stringContaining('check HTTPS_PROXY') });
    expect(outcome.message).toContain('HTTPS_PROXY must be an http or https URL');
    expect(JSON.stringify(outcome)).not.toContain('p4ssword');
    const service = await startFakeService();
    const direct = await startToolServer(service.url, unusable);
    expect(await direct.call('list_queues', { project_id: 'a/b' })).toMatchObject({ code: 'ok' });
  });

  it('are options of createClient', async () => {
    const [proxy, service] = [await startRecordingProxy(), await startFakeService()];
    const baseUrl = `http://service.example:${service.port}`;
    const client = createClient({ baseUrl, username: 'u', password: 'p', httpProxy: proxy.url });
    await client.call('listProjects', {});
    client.close();
    expect(proxy.requestLines).toEqual([`GET ${baseUrl}/projects -`]);
  });
});
