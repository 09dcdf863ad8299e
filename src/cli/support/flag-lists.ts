import type { SettingName } from '../../settings/settings.ts';

/** Settings that every command which reaches the service takes as flags. */
export const serviceFlags: readonly SettingName[] = [
  'profile',
  'baseUrl',
  'project',
  'username',
  'dataDir',
  'databaseUrl',
  'timeoutMs',
  'inferenceTimeoutMs',
  'keychainTimeoutMs',
  'modelProviderUrl',
  'logLevel',
  'logFormat',
];

/** Settings that say who comes in over HTTP. */
export const guardFlags: readonly SettingName[] = ['oauthIssuer', 'publicUrl', 'oauthAudience', 'subjects'];

/** Settings that choose the tools on offer. */
export const offerFlags: readonly SettingName[] = ['readOnly', 'tools'];

/** Settings that shape results. */
export const resultFlags: readonly SettingName[] = ['maxResultChars', 'text'];
