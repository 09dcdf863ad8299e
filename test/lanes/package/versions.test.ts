import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { settingDefinitions } from '../../../src/settings/settings.ts';

const read = (file: string): string => readFileSync(join(import.meta.dirname, '../../..', file), 'utf8');
const packageJson = JSON.parse(read('package.json'));
const serverJson = JSON.parse(read('server.json'));
const manifest = JSON.parse(read('manifest.json'));

describe('package metadata', () => {
  it('has the same version in every file', () => {
    const { version } = packageJson;
    expect(version).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
    expect(JSON.parse(read('package-lock.json')).packages[''].version).toBe(version);
    expect(manifest.version).toBe(version);
    expect(serverJson.version).toBe(version);
    expect(serverJson.packages.map((entry: { version: string }) => entry.version)).toEqual([version]);
    for (const file of [
      'plugin.json',
      '.claude-plugin/plugin.json',
      '.codex-plugin/plugin.json',
      'gemini-extension.json',
    ]) {
      expect(JSON.parse(read(file)).version, file).toBe(version);
    }
    expect(JSON.parse(read('.claude-plugin/marketplace.json')).plugins[0].version).toBe(version);
    expect(/^## (\S+)/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version);
  });

  it('decides about every install script, so that `npm ci` prints no warning', () => {
    const packages = Object.entries<{ hasInstallScript?: boolean }>(JSON.parse(read('package-lock.json')).packages);
    const scripted = packages.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
    expect(packageJson.allowScripts).toEqual({ '@photostructure/sqlite': false, esbuild: false });
    expect(scripted).toEqual(Object.keys(packageJson.allowScripts).map((name) => `node_modules/${name}`));
  });

  it('follows the rules of the MCP registry in server.json', () => {
    expect(serverJson.$schema).toBe('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json');
    expect(serverJson.name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
    expect(serverJson.name.length).toBeLessThanOrEqual(200);
    expect(serverJson.name).toBe(packageJson.mcpName);
    expect(serverJson.description.length).toBeGreaterThan(0);
    expect(serverJson.description.length).toBeLessThanOrEqual(100);
    expect(serverJson.title.length).toBeLessThanOrEqual(100);
    const [entry, ...others] = serverJson.packages;
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ registryType: 'npm', identifier: packageJson.name, transport: { type: 'stdio' } });
    expect(entry.packageArguments).toEqual([{ type: 'positional', value: 'serve' }]);
  });

  it('declares every setting in server.json, and which are secrets', () => {
    const variables: { name: string; isSecret: boolean; format: string; description: string; default?: unknown }[] =
      serverJson.packages[0].environmentVariables;
    const settings = Object.values(settingDefinitions) as { environment: string }[];
    expect(variables.map(({ name }) => name)).toEqual(settings.map(({ environment }) => environment));
    const secrets = Object.values(settingDefinitions).filter((setting) => 'secret' in setting);
    const declared = variables.filter(({ isSecret }) => isSecret).map(({ name }) => name);
    expect(declared).toEqual(secrets.map(({ environment }) => environment));
    const knownSecrets = ['HEDDLE_PASSWORD', 'HEDDLE_TOKEN', 'HEDDLE_HTTP_TOKEN', 'HEDDLE_DATABASE_URL'];
    expect(declared).toEqual(
      expect.arrayContaining([...knownSecrets, 'HEDDLE_MODEL_PROVIDER_KEY', 'HTTPS_PROXY', 'HTTP_PROXY']),
    );
    for (const { name, isSecret, format, description, default: fallback } of variables) {
      expect(name).toMatch(/^(HEDDLE_[A-Z_]+|(HTTPS?|NO)_PROXY)$/);
      expect(description).not.toBe('');
      expect(['string', 'number', 'boolean', 'filepath']).toContain(format);
      expect(['string', 'undefined']).toContain(typeof fallback);
      expect(isSecret && fallback !== undefined).toBe(false);
    }
  });
});
