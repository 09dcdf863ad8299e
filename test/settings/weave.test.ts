import { expect, test } from 'vitest';
import { resolveSettings } from '../../src/settings/resolve-settings.ts';

const key = 'key-of-a-weave-user';

function resolve(environment: Record<string, string>, profile?: Record<string, string | boolean>) {
  const { values, sources } = resolveSettings({
    flags: {},
    environment,
    profiles: profile ? { default: profile } : {},
  });
  const { baseUrl, username, password, token } = values;
  return { baseUrl, username, password, token, sources };
}

test('WANDB_API_KEY is password and token at the public Weave service', () => {
  const found = resolve({ HEDDLE_BASE_URL: 'https://trace.wandb.ai/', WANDB_API_KEY: key });
  expect(found).toMatchObject({ baseUrl: 'https://trace.wandb.ai', username: 'api', password: key, token: key });
  expect(found.sources.password).toEqual({ from: 'environment', name: 'WANDB_API_KEY' });
  expect(found.sources.username).toEqual({ from: 'default' });
});

test('WF_TRACE_SERVER_URL names a Weave service where nothing of heddle names one', () => {
  const environment = { WF_TRACE_SERVER_URL: 'https://weave.corp.example/traces', WANDB_API_KEY: key };
  const found = resolve(environment);
  expect(found).toMatchObject({ baseUrl: 'https://weave.corp.example/traces', username: 'api', token: key });
  expect(found.sources.baseUrl).toEqual({ from: 'environment', name: 'WF_TRACE_SERVER_URL' });
  expect(resolve(environment, { base_url: 'https://other.example' }).baseUrl).toBe('https://other.example');
});

test('WANDB_API_KEY goes to no other service', () => {
  for (const url of ['https://other.example', 'http://trace.wandb.ai', 'https://trace.wandb.ai.evil.example']) {
    expect(resolve({ HEDDLE_BASE_URL: url, WANDB_API_KEY: key })).toMatchObject({
      username: undefined,
      password: undefined,
      token: undefined,
    });
  }
  expect(resolve({ WANDB_API_KEY: key }).baseUrl).toBeUndefined();
});

test('a profile or HEDDLE_WEAVE can say that a service is Weave, or is not', () => {
  const environment = { WANDB_API_KEY: key };
  expect(resolve(environment, { base_url: 'https://own.example', weave: true }).token).toBe(key);
  expect(resolve({ ...environment, HEDDLE_WEAVE: 'true' }, { base_url: 'https://own.example' }).token).toBe(key);
  expect(
    resolve({ ...environment, HEDDLE_WEAVE: 'false' }, { base_url: 'https://trace.wandb.ai' }).token,
  ).toBeUndefined();
});

test("heddle's own names go before the borrowed ones", () => {
  const environment = {
    HEDDLE_BASE_URL: 'https://trace.wandb.ai',
    WANDB_API_KEY: key,
    HEDDLE_USERNAME: 'mia',
    HEDDLE_PASSWORD: 'own-password',
    HEDDLE_TOKEN: 'own-token',
  };
  expect(resolve(environment)).toMatchObject({ username: 'mia', password: 'own-password', token: 'own-token' });
});
