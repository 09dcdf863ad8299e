import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../src/settings/resolve-settings.ts';
import { noFolders } from '../support/heddle.ts';

const key = 'key-of-a-weave-user';

function resolve(environment: Record<string, string>, profile?: Record<string, string | boolean>) {
  const { values, sources } = resolveSettings({
    flags: {},
    environment,
    folders: noFolders,
    profiles: profile ? { default: profile } : {},
  });
  const { baseUrl, username, password, token } = values;
  return { baseUrl, username, password, token, sources };
}

describe('resolveSettings with the variables of Weave', () => {
  it('uses WANDB_API_KEY as password and token for the public Weave service', () => {
    const found = resolve({ HEDDLE_BASE_URL: 'https://trace.wandb.ai/', WANDB_API_KEY: key });
    expect(found).toMatchObject({ baseUrl: 'https://trace.wandb.ai', username: 'api', password: key, token: key });
    expect(found.sources.password).toEqual({ from: 'environment', name: 'WANDB_API_KEY' });
    expect(found.sources.username).toEqual({ from: 'default' });
  });

  it('uses WF_TRACE_SERVER_URL as the base URL if heddle has none of its own', () => {
    const environment = { WF_TRACE_SERVER_URL: 'https://weave.corp.example/traces', WANDB_API_KEY: key };
    const found = resolve(environment);
    expect(found).toMatchObject({ baseUrl: 'https://weave.corp.example/traces', username: 'api', token: key });
    expect(found.sources.baseUrl).toEqual({ from: 'environment', name: 'WF_TRACE_SERVER_URL' });
    expect(resolve(environment, { base_url: 'https://other.example' }).baseUrl).toBe('https://other.example');
  });

  it('does not use WANDB_API_KEY for any other service', () => {
    for (const url of ['https://other.example', 'http://trace.wandb.ai', 'https://trace.wandb.ai.evil.example']) {
      expect(resolve({ HEDDLE_BASE_URL: url, WANDB_API_KEY: key })).toMatchObject({
        username: undefined,
        password: undefined,
        token: undefined,
      });
    }
    expect(resolve({ WANDB_API_KEY: key }).baseUrl).toBeUndefined();
  });

  it('treats a service as Weave if a profile or HEDDLE_WEAVE says so', () => {
    const environment = { WANDB_API_KEY: key };
    expect(resolve(environment, { base_url: 'https://own.example', weave: true }).token).toBe(key);
    expect(resolve({ ...environment, HEDDLE_WEAVE: 'true' }, { base_url: 'https://own.example' }).token).toBe(key);
    expect(
      resolve({ ...environment, HEDDLE_WEAVE: 'false' }, { base_url: 'https://trace.wandb.ai' }).token,
    ).toBeUndefined();
  });

  it('prefers the variables of heddle', () => {
    const environment = {
      HEDDLE_BASE_URL: 'https://trace.wandb.ai',
      WANDB_API_KEY: key,
      HEDDLE_USERNAME: 'mia',
      HEDDLE_PASSWORD: 'own-password',
      HEDDLE_TOKEN: 'own-token',
    };
    expect(resolve(environment)).toMatchObject({ username: 'mia', password: 'own-password', token: 'own-token' });
  });
});
