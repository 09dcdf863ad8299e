// Stands for node:http2 in the bundle. Neither side of heddle speaks HTTP/2, but both libraries load it: 5 ms each time.

/** No request is one. */
export class Http2ServerRequest {}

export const constants = {};
