/** Key under which the `_meta` of an error result has the error, for Views. */
export const errorKey = 'io.github.heddle-mcp/error';
