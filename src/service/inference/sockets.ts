// What it takes to send to an upstream, in a module of its own, so that it is loaded when one is first used. The two
// parts alone: undici's main module is three times as much.
export { default as request } from 'undici/lib/api/api-request.js';
export { default as Agent } from 'undici/lib/dispatcher/agent.js';
