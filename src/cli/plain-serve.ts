const args = process.argv.slice(2);

/**
 * Whether it was started as clients do, with settings in the environment. This is a bundle of its own
 * (scripts/build.mjs): neither the parser nor the other commands are read.
 */
export const isPlainServe = args.length === 0 || (args.length === 1 && args[0] === 'serve');
