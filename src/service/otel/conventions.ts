/*
 * The attributes in which instrumentations keep what a recorded call needs: the GenAI conventions of OpenTelemetry, OpenInference,
 * OpenLLMetry (Traceloop), the AI SDK of Vercel, and some more that the public service knows. The first one that is there counts.
 */

/** The name of an attribute, and the path to its value where names are paths. */
export interface AttributeName {
  name: string;
  path: readonly string[];
}

const named = (...names: string[]): readonly AttributeName[] => names.map((name) => ({ name, path: name.split('.') }));

/** Attributes with the inputs of a span. */
export const inputNames = named(
  'ai.prompt',
  'ai.toolCall.args',
  'gen_ai.prompt',
  'input.value',
  'mlflow.spanInputs',
  'gen_ai.input.messages',
  'gen_ai.tool.call.arguments',
  'pydantic_ai.all_messages',
  'traceloop.entity.input',
  'llm.input_messages',
  'llm.prompts',
  'gcp.vertex.agent.tool_call_args',
  'gcp.vertex.agent.llm_request',
  'input',
  'inputs',
);

/** Attributes with the output of a span. */
export const outputNames = named(
  'ai.response',
  'ai.toolCall.result',
  'gen_ai.completion',
  'output.value',
  'gen_ai.output.messages',
  'gen_ai.tool.call.result',
  'mlflow.spanOutputs',
  'final_result',
  'gen_ai.content.completion',
  'traceloop.entity.output',
  'llm.output_messages',
  'retrieval.documents',
  'gcp.vertex.agent.tool_response',
  'gcp.vertex.agent.llm_response',
  'output',
  'outputs',
);

/** Attributes with the numbers of tokens, by the members of `summary.usage`. */
export const usageNames = {
  prompt_tokens: named('gen_ai.usage.prompt_tokens', 'llm.token_count.prompt', 'ai.usage.promptTokens'),
  input_tokens: named('gen_ai.usage.input_tokens', 'ai.usage.inputTokens'),
  completion_tokens: named('gen_ai.usage.completion_tokens', 'llm.token_count.completion', 'ai.usage.completionTokens'),
  output_tokens: named('gen_ai.usage.output_tokens', 'ai.usage.outputTokens'),
  requests: named(),
  total_tokens: named(
    'gen_ai.usage.total_tokens',
    'llm.usage.total_tokens',
    'llm.token_count.total',
    'ai.usage.totalTokens',
  ),
};

/** Attributes that describe a span, by the members of `attributes` of the call. */
export const describingNames = {
  system: named('gen_ai.system', 'gen_ai.provider.name', 'llm.system'),
  kind: named('weave.span.kind', 'traceloop.span.kind', 'openinference.span.kind'),
  model: named('gen_ai.response.model', 'llm.model_name', 'ai.model.id'),
  provider: named('llm.provider', 'ai.model.provider'),
  model_parameters: named('gen_ai.request', 'llm.invocation_parameters'),
};

/** Attributes with the thread that a span belongs to: a conversation or a session. */
export const threadNames = named(
  'wandb.thread_id',
  'gcp.vertex.agent.session_id',
  'gen_ai.conversation.id',
  'session.id',
);

/** Attributes that make a span a turn of its thread. */
export const turnNames = named('wandb.is_turn', 'gcp.vertex.agent.session_id');

/** The attribute with a name for display. */
export const displayNames = named('wandb.display_name');

/** The attribute with members that `attributes` of the call has too. */
export const customNames = named('wandb.attributes');
