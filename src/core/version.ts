import manifest from '../../package.json' with { type: 'json' };

/** The version of the package, from its one place. */
export const version: string = manifest.version;
