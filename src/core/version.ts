import manifest from '../../package.json' with { type: 'json' };

/** The version of the package, from package.json. */
export const version: string = manifest.version;

declare const __HEDDLE_BUILD__: string | undefined;

/**
 * Tells builds of one version apart: seven hex digits of the commit, or of the built code where there is no commit that is the
 * same; `source` where heddle runs without being built.
 */
export const build = typeof __HEDDLE_BUILD__ === 'undefined' ? 'source' : __HEDDLE_BUILD__;

/** The oldest version of Node that heddle supports, from package.json. */
export const oldestNode: string = manifest.engines.node.replace('>=', '');
