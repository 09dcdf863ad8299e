import { describe, expect, it } from 'vitest';
import { type Inputs, resolveSettings } from '../../src/settings/resolve-settings.ts';
import { noFolders } from '../support/heddle.ts';

function resolve(environment: Record<string, string>, inputs: Partial<Inputs> = {}) {
  const { values, sources } = resolveSettings({ flags: {}, environment, folders: noFolders, profiles: {}, ...inputs });
  return { url: values.inferenceUrl, source: sources.inferenceUrl };
}

const withoutService = (place: string) => ({
  code: 'not_configured',
  message: `${place} is set, but no base URL is: the embedded service runs inference itself.`,
  hint: `Set HEDDLE_BASE_URL too, or remove ${place}. HEDDLE_MODEL_PROVIDER_URL lets the embedded service forward inference to an API.`,
});

describe('the setting inferenceUrl', () => {
  it.each([
    [{ HEDDLE_BASE_URL: 'https://trace.wandb.ai/' }, 'https://api.inference.wandb.ai/v1'],
    [{ WF_TRACE_SERVER_URL: 'https://trace.wandb.ai' }, 'https://api.inference.wandb.ai/v1'],
    [{ HEDDLE_BASE_URL: 'http://trace.wandb.ai' }, 'http://trace.wandb.ai/inference/v1'],
    [{ HEDDLE_BASE_URL: 'https://own.example/traces/' }, 'https://own.example/traces/inference/v1'],
    [
      { HEDDLE_BASE_URL: 'https://own.example', HEDDLE_WEAVE: 'true', WANDB_API_KEY: 'key-of-a-weave-user' },
      'https://own.example/inference/v1',
    ],
  ])('follows from the base URL by default: %j', (environment, url) => {
    expect(resolve(environment)).toEqual({ url, source: { from: 'default' } });
  });

  it('has no value with the embedded service', () => {
    expect(resolve({})).toEqual({ url: undefined, source: { from: 'unset' } });
  });

  it('comes from the flag, else the environment, else the profile, without a trailing slash', () => {
    const HEDDLE_BASE_URL = 'https://trace.wandb.ai';
    const environment = { HEDDLE_BASE_URL, HEDDLE_INFERENCE_URL: 'https://llm.example/v1/' };
    const profiles = { default: { inference_url: 'https://profile.example/openai/v1' } };
    expect(resolve(environment, { profiles, flags: { inferenceUrl: 'http://127.0.0.1:8000' } })).toEqual({
      url: 'http://127.0.0.1:8000',
      source: { from: 'flag', name: '--inference-url' },
    });
    expect(resolve(environment, { profiles })).toEqual({
      url: 'https://llm.example/v1',
      source: { from: 'environment', name: 'HEDDLE_INFERENCE_URL' },
    });
    expect(resolve({ HEDDLE_BASE_URL }, { profiles })).toEqual({
      url: 'https://profile.example/openai/v1',
      source: { from: 'profile', name: 'default' },
    });
  });

  it('applies from a profile only to the service of that profile', () => {
    const profiles = { default: { base_url: 'https://own.example/', inference_url: 'https://llm.example/v1' } };
    expect(resolve({}, { profiles }).url).toBe('https://llm.example/v1');
    expect(resolve({ HEDDLE_BASE_URL: 'https://other.example' }, { profiles })).toEqual({
      url: 'https://other.example/inference/v1',
      source: { from: 'default' },
    });
  });

  it.each([
    ['llm.example/v1', 'HEDDLE_INFERENCE_URL must be an http or https URL.'],
    ['ftp://llm.example/v1', 'HEDDLE_INFERENCE_URL must be an http or https URL.'],
    ['https://mia:correct-horse@llm.example/v1', 'HEDDLE_INFERENCE_URL must not contain a user name or password.'],
    ['https://llm.example/v1?key=k', 'HEDDLE_INFERENCE_URL must not have a query or fragment.'],
    ['https://llm.example/v1#models', 'HEDDLE_INFERENCE_URL must not have a query or fragment.'],
  ])('is rejected as %s', (HEDDLE_INFERENCE_URL, message) => {
    expect(() => resolve({ HEDDLE_BASE_URL: 'https://own.example', HEDDLE_INFERENCE_URL })).toThrow(
      expect.objectContaining({ code: 'not_configured', message }),
    );
  });

  it('is rejected without a base URL', () => {
    const HEDDLE_INFERENCE_URL = 'https://llm.example/v1';
    expect(() => resolve({ HEDDLE_INFERENCE_URL })).toThrow(
      expect.objectContaining(withoutService('HEDDLE_INFERENCE_URL')),
    );
    expect(() => resolve({}, { flags: { inferenceUrl: HEDDLE_INFERENCE_URL } })).toThrow(
      expect.objectContaining(withoutService('--inference-url')),
    );
    expect(() => resolve({}, { profiles: { default: { inference_url: HEDDLE_INFERENCE_URL } } })).toThrow(
      expect.objectContaining(withoutService('"inference_url" of profile "default"')),
    );
  });

  it('is accepted without a base URL by commands that may ask for one', () => {
    const found = resolve({ HEDDLE_INFERENCE_URL: 'https://llm.example/v1' }, { newProfile: true });
    expect(found.url).toBe('https://llm.example/v1');
  });
});
