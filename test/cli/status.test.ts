import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';

// biome-ignore lint/suspicious/noTemplateCurlyInString: a host leaves exactly this for a field that is not filled in
const placeholder = '${user_config.secret}';

function homeWith(profiles: unknown, extra: Record<string, string> = {}): Record<string, string> {
  const home = temporaryFolder();
  mkdirSync(join(home, 'heddle'));
  writeFileSync(join(home, 'heddle', 'config.json'), JSON.stringify({ profiles }));
  return emptyHome(home, extra);
}

describe('heddle status', () => {
  it('shows every setting with its source, and never a secret', async () => {
    const environment = homeWith(
      {
        default: {
          base_url: 'https://service.example/api',
          inference_url: 'https://llm.example/v1/',
          project: 'team/app',
        },
      },
      {
        HEDDLE_PROJECT: 'other/app',
        HEDDLE_USERNAME: 'mia',
        HEDDLE_PASSWORD: 'correct-horse',
        HEDDLE_TOKEN: placeholder,
      },
    );
    const { code, stdout } = await run(['status', '--json', '--log-level', 'info'], environment);
    expect(code).toBe(0);
    const status = JSON.parse(stdout);
    expect(status).toMatchObject({
      service: 'https://service.example/api',
      profile: 'default',
      settings: {
        base_url: { value: 'https://service.example/api', source: 'profile', name: 'default' },
        inference_url: { value: 'https://llm.example/v1', source: 'profile', name: 'default' },
        project: { value: 'other/app', source: 'environment', name: 'HEDDLE_PROJECT' },
        username: { value: 'mia', source: 'environment', name: 'HEDDLE_USERNAME' },
        log_level: { value: 'info', source: 'flag', name: '--log-level' },
        max_result_chars: { value: 40_000, source: 'default' },
        timeout_ms: { value: 60_000, source: 'default' },
        inference_timeout_ms: { value: 600_000, source: 'default' },
        keychain_timeout_ms: { value: null, source: 'unset' },
      },
      secrets: { password: { source: 'environment', name: 'HEDDLE_PASSWORD' }, token: { source: 'unset' } },
      unfilled_placeholders: ['HEDDLE_TOKEN'],
    });
    expect(stdout).not.toContain('correct-horse');

    const text = (await run(['status', '--table'], environment)).stdout;
    expect(text).toContain('Service: https://service.example/api\n');
    expect(text).toMatch(/^ {2}base_url +https:\/\/service\.example\/api +profile "default"$/m);
    expect(text).toMatch(/^ {2}password +set +HEDDLE_PASSWORD$/m);
    expect(text).toMatch(/^ {2}token +- +unset$/m);
    expect(text).toContain('Note: HEDDLE_TOKEN holds an unfilled placeholder and counts as unset.');
    expect(text).not.toContain('correct-horse');
  });

  it('names the embedded service and its data file if no base URL is configured', async () => {
    const folder = temporaryFolder();
    const { stdout } = await run(['status', '--table'], emptyHome(folder));
    expect(stdout).toContain('Service: embedded, on this machine, because no base URL is configured\n');
    expect(stdout).toContain(`Data: ${join(folder, 'heddle', 'heddle.db')} (created by the first call)\n`);
  });

  it('shows why stored secrets cannot be read', async () => {
    const environment = homeWith({ default: { base_url: 'https://service.example', store: 'keychain' } });
    const { stdout } = await run(['status', '--table'], environment);
    expect(stdout).toMatch(/^Problem: There is no keychain on this machine/m);
  });

  it('exits with 2 for a profile that does not exist', async () => {
    const { code, stderr } = await run(['status', '--profile', 'nowhere'], homeWith({ work: {} }));
    expect(code).toBe(2);
    expect(stderr).toBe(
      'heddle: --profile names a profile that does not exist.\nKnown profiles: work. `node dist/heddle.js login --profile NAME` creates one.\n',
    );
  });
});
