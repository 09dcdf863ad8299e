import type { JsonSchemaValidator, jsonSchemaValidator } from '@modelcontextprotocol/server';

/**
 * Takes the place of the JSON Schema engine that the SDK brings, which is a third of the SDK and is loaded by every
 * start. The SDK asks it for one thing only, to check what a person answered to an elicitation, and what is asked here
 * (see `confirmation` in server.ts) is checked where the answer is read.
 */
export class DefaultJsonSchemaValidator implements jsonSchemaValidator {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  }
}

/** The other thing that this module of the SDK holds. */
const { process } = globalThis;

export { process };
