import manifest from '../../package.json' with { type: 'json' };

/** The version of the package, from package.json. */
export const version: string = manifest.version;
