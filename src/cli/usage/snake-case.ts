import type { Source } from '../../settings/resolve-settings.ts';

/** Describes in words where a setting or secret comes from: `HEDDLE_TOKEN`, `profile "work"`, `default`. */
export function describeSource({ from, name }: Source): string {
  if (from === 'profile') return `profile "${name}"`;
  if (from === 'keychain') return `keychain, profile "${name}"`;
  if (from === 'file') return `credentials file, profile "${name}"`;
  return name ?? from;
}

/** Converts a setting's name to the form that configuration files and output use: `baseUrl` to `base_url`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
