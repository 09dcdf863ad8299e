import manifest from '../../package.json' with { type: 'json' };

/** The version of the package, from package.json. */
export const version: string = manifest.version;

/** The oldest version of Node that heddle supports, from package.json. */
export const oldestNode: string = manifest.engines.node.replace('>=', '');
