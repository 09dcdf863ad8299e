/*
 * The attributes in which instrumentations keep what a recorded call needs: the GenAI conventions of OpenTelemetry, OpenInference,
 * OpenLLMetry (Traceloop), the AI SDK of Vercel, and some more that the public service knows. The first one that is there counts.
 */

/** Attributes with the inputs of a span. */
export const inputNames = [
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
];

/** Attributes with the output of a span. */
export const outputNames = [
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
];

/** Attributes with the numbers of tokens, by the members of `summary.usage`. */
export const usageNames = {
  prompt_tokens: ['gen_ai.usage.prompt_tokens', 'llm.token_count.prompt', 'ai.usage.promptTokens'],
  input_tokens: ['gen_ai.usage.input_tokens', 'ai.usage.inputTokens'],
  completion_tokens: ['gen_ai.usage.completion_tokens', 'llm.token_count.completion', 'ai.usage.completionTokens'],
  output_tokens: ['gen_ai.usage.output_tokens', 'ai.usage.outputTokens'],
  requests: [],
  total_tokens: [
    'gen_ai.usage.total_tokens',
    'llm.usage.total_tokens',
    'llm.token_count.total',
    'ai.usage.totalTokens',
  ],
} as const;

/** Attributes that describe a span, by the members of `attributes` of the call. */
export const describingNames = {
  system: ['gen_ai.system', 'gen_ai.provider.name', 'llm.system'],
  kind: ['weave.span.kind', 'traceloop.span.kind', 'openinference.span.kind'],
  model: ['gen_ai.response.model', 'llm.model_name', 'ai.model.id'],
  provider: ['llm.provider', 'ai.model.provider'],
  model_parameters: ['gen_ai.request', 'llm.invocation_parameters'],
} as const;

/** Attributes with the thread that a span belongs to: a conversation or a session. */
export const threadNames = ['wandb.thread_id', 'gcp.vertex.agent.session_id', 'gen_ai.conversation.id', 'session.id'];
/** Attributes that make a span a turn of its thread. */
export const turnNames = ['wandb.is_turn', 'gcp.vertex.agent.session_id'];
