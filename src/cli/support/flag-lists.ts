import type { OptionName } from '../../settings/settings.ts';

/** Settings that every command which reaches the service takes as flags. */
export const serviceFlags: readonly OptionName[] = [
  'profile',
  'baseUrl',
  'project',
  'username',
  'dataDir',
  'databaseUrl',
  'timeoutMs',
  'upstreamUrl',
  'logLevel',
  'logFormat',
];

/** Settings that say who comes in over HTTP. */
export const guardFlags: readonly OptionName[] = ['oauthIssuer', 'publicUrl', 'oauthAudience', 'subjects'];

/** Settings that choose the tools on offer. */
export const offerFlags: readonly OptionName[] = ['readOnly', 'tools'];

/** Settings that shape results. */
export const resultFlags: readonly OptionName[] = ['maxResultChars', 'text'];
