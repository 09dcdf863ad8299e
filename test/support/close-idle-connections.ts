import { Agent, setGlobalDispatcher } from 'undici';

// A server that stops waits a second for clients that keep idle connections to it.
setGlobalDispatcher(new Agent({ keepAliveTimeout: 20, keepAliveMaxTimeout: 20 }));
