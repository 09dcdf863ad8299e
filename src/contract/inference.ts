import * as z from 'zod';
import { endpoint, inferencePrefix, noProject } from './endpoint.ts';

/** Id of the built-in model of the embedded service. It is there whenever it is named, also beside a model provider, which does not list it. */
export const echoModel = 'heddle/echo';

/** The entry of the built-in model in a list of models. */
export const echoModelFacts = { id: echoModel, object: 'model', created: 0, owned_by: 'heddle' };

/** Characters that one token stands for, roughly: for estimates, and for the usage of the built-in model. */
export const charsPerToken = 4;

const freeForm = z.record(z.string(), z.unknown());

/** Request body of inference. Members that the interface does not name are passed on to the model provider. */
export const inferenceRequest = z.looseObject({
  model: z.string().min(1).describe('Model to ask, by its id.'),
  messages: z
    .array(z.unknown())
    .optional()
    .describe('Chat messages, oldest first, like {"role":"user","content":"…"}.'),
  timeout: z.unknown().optional().describe('Maximum time for the service, in seconds.'),
  temperature: z.number().nullish().describe('Sampling temperature.'),
  top_p: z.number().nullish().describe('Nucleus sampling probability.'),
  n: z.int().nullish().describe('Number of choices to generate.'),
  stop: z
    .union([z.string(), z.array(z.unknown())])
    .nullish()
    .describe('String, or list of strings, that ends the reply.'),
  max_completion_tokens: z.int().nullish().describe('Maximum number of tokens to generate, including reasoning.'),
  max_tokens: z.int().nullish().describe('Maximum number of tokens to generate (older name).'),
  modalities: z.array(z.unknown()).nullish().describe('Kinds of output, like ["text"].'),
  presence_penalty: z.number().nullish().describe('Penalty for tokens that have occurred.'),
  frequency_penalty: z.number().nullish().describe('Penalty for tokens by their frequency so far.'),
  stream: z.boolean().nullish().describe('Receive the reply in pieces.'),
  logit_bias: freeForm.nullish().describe('Bias by token id.'),
  user: z.string().nullish().describe('Identifier of the end user, for abuse detection.'),
  response_format: freeForm.nullish().describe('Format of the reply, like {"type":"json_object"}.'),
  seed: z.int().nullish().describe('Seed for repeatable sampling.'),
  tools: z.array(z.unknown()).nullish().describe('Tools that the model may call.'),
  tool_choice: z
    .union([z.string(), freeForm])
    .nullish()
    .describe('Tool that the model must call: a keyword or an object.'),
  logprobs: z.boolean().nullish().describe('Also return log probabilities.'),
  top_logprobs: z.int().nullish().describe('Number of most likely tokens to return at each position.'),
  parallel_tool_calls: z.boolean().nullish().describe('Whether the model may call several tools at once.'),
  extra_headers: freeForm.nullish().describe('Headers for the model provider.'),
  functions: z.array(z.unknown()).nullish().describe('Functions that the model may call (older form of tools).'),
  function_call: z.union([z.string(), freeForm]).nullish().describe('Function to call (older form of tool_choice).'),
  api_version: z.string().nullish().describe('Version of the provider API.'),
  prompt: z.string().nullish().describe('Reference to a stored prompt.'),
  template_vars: freeForm.nullish().describe('Values by variable name.'),
});

/** The reply of the model: any JSON object. */
export const inferenceResponse = z.looseObject({});
export type InferenceResponse = z.infer<typeof inferenceResponse>;

const readModelResponse = z.looseObject({ id: z.string() });

export const inferenceEndpoints = {
  runInference: endpoint({
    summary: 'Run inference',
    description:
      'Every path below /inference/v1 takes the same body; /chat/completions is the usual one. With prompt, the messages of the stored prompt go first. {name} in messages is replaced from template_vars; {{ and }} stand for braces. With stream, the reply is a stream of server-sent events.',
    path: `${inferencePrefix}{path*}`,
    auth: 'bearer',
    projects: noProject,
    request: inferenceRequest,
    response: inferenceResponse,
    repeatable: false,
    timeout: 'inference',
  }),
  listModels: endpoint({
    summary: 'List the models',
    method: 'GET',
    path: `${inferencePrefix}/models`,
    auth: 'bearer',
    projects: noProject,
    response: z.looseObject({ object: z.string().nullish(), data: z.array(readModelResponse) }),
  }),
  readModel: endpoint({
    summary: 'Read a model',
    description: 'Slashes in the id of the model may be percent-encoded.',
    method: 'GET',
    path: `${inferencePrefix}/models{path*}`,
    auth: 'bearer',
    projects: noProject,
    response: readModelResponse,
  }),
};
