import { isJsonObject, type Members, objectOrEmpty } from '../../../core/json/json-object.ts';
import {
  type FileFormat,
  filledMembers,
  type ImportedCall,
  namedInputs,
  numberOf,
  optionalText,
  parsedCell,
  replyOf,
  restOf,
  timeOf,
  usageOf,
} from './imported-call.ts';

/** Conversations, batches, stored completions, logs of responses and results of evaluations of OpenAI. */
export const openaiFormats: readonly FileFormat[] = [
  {
    name: 'results of an OpenAI batch',
    matches: (row) => 'custom_id' in row && 'response' in row && !('body' in row),
    convert: (row) => {
      const response = objectOrEmpty(row.response);
      const error = objectOrEmpty(row.error ?? objectOrEmpty(response.body).error);
      return [
        {
          ...responseOf(objectOrEmpty(response.body)),
          id: optionalText(row.id),
          inputs: { custom_id: row.custom_id },
          exception: optionalText(error.message) ?? (row.error ? optionalText(row.error) : undefined),
        },
      ];
    },
  },
  {
    name: 'requests of an OpenAI batch',
    matches: (row) => 'custom_id' in row && isJsonObject(row.body) && 'url' in row,
    convert: (row) => {
      const { messages, input, ...parameters } = objectOrEmpty(row.body);
      const value = messages ?? input;
      return [
        {
          opName: optionalText(row.url),
          inputs: { custom_id: row.custom_id, ...(messages === undefined ? { input: value } : { messages: value }) },
          attributes: filledMembers({ model: parameters.model, parameters }),
        },
      ];
    },
  },
  {
    name: 'results of an OpenAI evaluation',
    matches: (row) => row.object === 'eval.run.output_item' || ('datasource_item' in row && 'sample' in row),
    convert: (row) => [evaluated(row)],
  },
  {
    name: 'OpenAI completions',
    matches: (row) => /^(chat\.completion|text_completion|response)$/.test(String(row.object)) && 'id' in row,
    convert: (row) => [
      {
        ...responseOf(row),
        inputs: requestOf(row),
        attributes: filledMembers({ ...responseOf(row).attributes, metadata: row.metadata }),
      },
    ],
  },
  {
    name: 'logs with requests and responses of OpenAI',
    matches: (row) => isRequest(parsedCell(row.request)) && isResponse(parsedCell(row.response)),
    convert: (row) => {
      const request = objectOrEmpty(parsedCell(row.request));
      const call = responseOf(objectOrEmpty(parsedCell(row.response)));
      return [
        {
          ...call,
          inputs: requestOf(request),
          attributes: filledMembers({ ...call.attributes, log: restOf(row, ['request', 'response']) }),
        },
      ];
    },
  },
  {
    name: 'preferences for fine-tuning at OpenAI',
    matches: (row) => 'preferred_output' in row && 'non_preferred_output' in row,
    convert: (row) => [
      {
        opName: 'preference',
        inputs: objectOrEmpty(row.input),
        output: { preferred: row.preferred_output, non_preferred: row.non_preferred_output },
      },
    ],
  },
  {
    name: 'conversations',
    matches: (row) => isConversation(row.messages) || isConversation(row.conversations),
    convert: (row) => {
      const { messages, conversations, ...rest } = row;
      const { before, reply } = replyOf(messages ?? conversations);
      return [
        {
          id: undefined,
          opName: 'chat',
          inputs: { messages: before },
          output: reply,
          attributes: filledMembers(restOf(rest, [])),
          show: ['inputs.messages', ...(reply === undefined ? [] : [contentPath(objectOrEmpty(reply))])],
        },
      ];
    },
  },
];

function isConversation(messages: unknown): boolean {
  const [first] = Array.isArray(messages) ? messages : [];
  return isJsonObject(first) && ('role' in first || 'from' in first);
}

const isRequest = (request: unknown): boolean => isJsonObject(request) && ('messages' in request || 'input' in request);
const isResponse = (response: unknown): boolean =>
  isJsonObject(response) && ('choices' in response || 'output' in response);

const contentPath = (reply: Members): string =>
  typeof reply.content === 'string' ? 'output.content' : 'value' in reply ? 'output.value' : 'output';

/** Returns the messages or the input of a request. */
function requestOf(request: Members): Members {
  const { messages, input, prompt, instructions } = request;
  return filledMembers({ instructions, messages, input, prompt });
}

/** Returns the call that a response of the API for chats, completions or responses describes. */
function responseOf(body: Members): ImportedCall {
  const usage = objectOrEmpty(body.usage);
  const [choice] = Array.isArray(body.choices) ? body.choices : [];
  const { message, text } = objectOrEmpty(choice);
  const error = objectOrEmpty(body.error);
  const startedAt = timeOf(body.created ?? body.created_at);
  return {
    id: optionalText(body.id),
    opName: optionalText(body.object) ?? 'completion',
    startedAt,
    endedAt: timeOf(body.completed_at) ?? startedAt,
    inputs: {},
    output: message ?? text ?? outputOf(body.output),
    exception: optionalText(error.message),
    usage: usageOf(
      body.model,
      usage.prompt_tokens ?? usage.input_tokens,
      usage.completion_tokens ?? usage.output_tokens,
      usage.total_tokens,
    ),
    attributes: filledMembers({ model: body.model }),
  };
}

/** Returns the text of a response, if text is all it has. */
function outputOf(output: unknown): unknown {
  if (!Array.isArray(output)) return output;
  const parts = output.flatMap((item) => (isJsonObject(item) && Array.isArray(item.content) ? item.content : [item]));
  const texts = parts.map((part) => (isJsonObject(part) && part.type === 'output_text' ? part.text : undefined));
  return texts.length > 0 && texts.every((text) => typeof text === 'string') ? texts.join('\n') : output;
}

function evaluated(row: Members): ImportedCall {
  const sample = objectOrEmpty(row.sample);
  const usage = objectOrEmpty(sample.usage);
  const item = objectOrEmpty(row.datasource_item);
  const { item: inner, ...others } = item;
  const [reply, ...more] = Array.isArray(sample.output) ? sample.output : [];
  const results = Array.isArray(row.results) ? row.results.filter(isJsonObject) : [];
  return {
    id: optionalText(row.id),
    opName: 'evaluation',
    startedAt: timeOf(row.created_at),
    inputs: { ...(inner === undefined ? item : { ...namedInputs(inner, 'item'), ...others }), messages: sample.input },
    output: more.length === 0 && isJsonObject(reply) ? (reply.content ?? reply) : sample.output,
    exception: optionalText(objectOrEmpty(sample.error).message),
    usage: usageOf(sample.model, usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
    attributes: filledMembers({
      model: sample.model,
      openai: filledMembers({ eval_id: row.eval_id, run_id: row.run_id }),
    }),
    scores: results.map(({ name, passed, score }) => ({
      scorer: optionalText(name) ?? 'result',
      value: typeof passed === 'boolean' ? passed : score,
      ...(typeof passed === 'boolean' && numberOf(score) !== undefined && { comment: `score ${score}` }),
    })),
  };
}
