// A module of its own, so that undici is loaded when an upstream is first used: `import('undici')` itself, once
// bundled, gives a module without its names.
export { Agent } from 'undici';
