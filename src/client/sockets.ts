// A module of its own, so that undici is loaded with the first request and not before.
export { Agent, request } from 'undici';
