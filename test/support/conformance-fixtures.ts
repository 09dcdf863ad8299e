import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  inputRequired,
  ProtocolError,
  type Server,
  type ServerContext,
  type ServerOptions,
} from '@modelcontextprotocol/server';

/*
 * The tools, prompts and resources that the conformance suite calls by name. A decorator adds them to heddle's server,
 * whose handlers get every other request.
 */

const image = {
  type: 'image',
  mimeType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==',
};
const audio = {
  type: 'audio',
  mimeType: 'audio/wav',
  data: 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=',
};
const embedded = (uri: string, mimeType: string, text: string) => ({
  type: 'resource',
  resource: { uri, mimeType, text },
});
const says = (text: string) => ({ content: [{ type: 'text', text }] });

/** Seals the state of calls with several rounds, since the client returns it. */
const sealed = createRequestStateCodec<Record<string, unknown>>({ key: crypto.getRandomValues(new Uint8Array(32)) });

/** Server options that declare the capabilities of the fixtures. */
export const fixtureOptions: ServerOptions = {
  capabilities: { logging: {}, resources: { subscribe: true, listChanged: false } },
  requestState: { verify: sealed.verify },
};

const form = (name: string, type: 'string' | 'boolean' = 'string') => ({
  type: 'object' as const,
  properties: { [name]: type === 'string' ? { type } : { type } },
  required: [name],
});
const askName = (message = 'What is your name?') => inputRequired.elicit({ message, requestedSchema: form('name') });
const askModel = (text: string) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens: 50 });
const askConfirmation = () =>
  inputRequired.elicit({ message: 'Please confirm', requestedSchema: form('ok', 'boolean') });

type Run = (context: ServerContext, args: Record<string, unknown>) => unknown;

const notify = ({ mcpReq }: ServerContext, data: string) =>
  mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });

/** Asks the client over a session, which stateless serving has none of: the suite finds that out. */
const overSession =
  (method: string, params: (args: Record<string, unknown>) => unknown): Run =>
  async ({ mcpReq }, args) =>
    says(JSON.stringify(await mcpReq.send({ method, params: params(args) } as never)));

const tools: Record<string, Run> = {
  test_simple_text: () => says('This is a simple text response for testing.'),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [audio] }),
  test_embedded_resource: () => ({
    content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }),
  test_error_handling: () => ({ ...says('This tool intentionally returns an error for testing'), isError: true }),
  test_tool_with_logging: async (context) => {
    for (const step of ['started', 'processing data', 'completed']) await notify(context, `Tool execution ${step}`);
    return says('Tool with logging executed successfully');
  },
  test_tool_with_progress: async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
      await mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken: progressToken!, progress, total: 100, message: `Completed step ${progress} of 100` },
      });
    }
    return says(String(progressToken));
  },
  test_logging_tool: async ({ mcpReq }) => {
    await mcpReq.log('info', 'only for a request that asks for logs');
    return says('logged');
  },
  test_streaming_elicitation: () => says('result frames only'),
  test_missing_capability: ({ mcpReq }) =>
    mcpReq.inputResponses?.answer === undefined
      ? inputRequired({ inputRequests: { answer: askModel('Reply with the single word: pong') } })
      : says('sampling round-trip complete'),
  test_sampling: overSession('sampling/createMessage', ({ prompt }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
    maxTokens: 100,
  })),
  test_elicitation: overSession('elicitation/create', ({ message }) => ({
    message,
    requestedSchema: form('response'),
  })),
  test_elicitation_sep1034_defaults: overSession('elicitation/create', () => ({
    message: 'Defaults',
    requestedSchema: { type: 'object', properties: { name: { type: 'string', default: 'John Doe' } } },
  })),
  test_elicitation_sep1330_enums: overSession('elicitation/create', () => ({
    message: 'Choices',
    requestedSchema: { type: 'object', properties: { one: { type: 'string', enum: ['option1', 'option2'] } } },
  })),

  test_input_required_result_elicitation: ({ mcpReq }) => {
    const name = acceptedContent<{ name: string }>(mcpReq.inputResponses, 'user_name')?.name;
    return typeof name === 'string'
      ? says(`Hello, ${name}!`)
      : inputRequired({ inputRequests: { user_name: askName() } });
  },
  test_input_required_result_sampling: ({ mcpReq }) => {
    const answer = mcpReq.inputResponses?.capital_question;
    return answer === undefined
      ? inputRequired({ inputRequests: { capital_question: askModel('What is the capital of France?') } })
      : says(`Sampling response: ${JSON.stringify(answer)}`);
  },
  test_input_required_result_list_roots: ({ mcpReq }) => {
    const { roots } = (mcpReq.inputResponses?.client_roots ?? {}) as { roots?: unknown[] };
    return Array.isArray(roots)
      ? says(`Client exposed ${JSON.stringify(roots)}`)
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  },
  test_input_required_result_request_state: async ({ mcpReq }) => {
    if (acceptedContent(mcpReq.inputResponses, 'confirm') !== undefined) {
      if (mcpReq.requestState() === undefined) throw new ProtocolError(-32602, 'Invalid requestState: missing');
      return says('state-ok: requestState verified and confirmation received');
    }
    const requestState = await sealed.mint({ nonce: crypto.randomUUID() });
    return inputRequired({ inputRequests: { confirm: askConfirmation() }, requestState });
  },
  test_input_required_result_multiple_inputs: async ({ mcpReq }) => {
    const responses = mcpReq.inputResponses;
    const name = acceptedContent<{ name: string }>(responses, 'user_name')?.name;
    const { roots } = (responses?.client_roots ?? {}) as { roots?: unknown[] };
    if (typeof name === 'string' && responses?.greeting !== undefined && Array.isArray(roots)) {
      return says(`Hello ${name}, ${roots.length} root(s) visible`);
    }
    return inputRequired({
      inputRequests: {
        user_name: askName(),
        greeting: askModel('Generate a greeting'),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await sealed.mint({ nonce: crypto.randomUUID() }),
    });
  },
  test_input_required_result_multi_round: async ({ mcpReq }) => {
    const { round = 0, name } = mcpReq.requestState<{ round?: number; name?: string }>() ?? {};
    const nonce = crypto.randomUUID();
    if (round === 0) {
      const requestState = await sealed.mint({ round: 1, nonce });
      return inputRequired({ inputRequests: { step1: askName('Step 1: What is your name?') }, requestState });
    }
    if (round === 1) {
      const given = acceptedContent<{ name: string }>(mcpReq.inputResponses, 'step1')?.name;
      const step2 = inputRequired.elicit({ message: 'Step 2: Which colour?', requestedSchema: form('color') });
      const requestState = await sealed.mint({ round: 2, name: given, nonce });
      return inputRequired({ inputRequests: { step2 }, requestState });
    }
    const color = acceptedContent<{ color: string }>(mcpReq.inputResponses, 'step2')?.color;
    return says(`Multi-round complete: ${name} likes ${color}`);
  },
  test_input_required_result_tampered_state: async ({ mcpReq }) =>
    mcpReq.requestState() !== undefined && acceptedContent(mcpReq.inputResponses, 'confirm') !== undefined
      ? says('integrity-ok: requestState verified')
      : inputRequired({
          inputRequests: { confirm: askConfirmation() },
          requestState: await sealed.mint({ nonce: crypto.randomUUID() }),
        }),
  test_input_required_result_capabilities: ({ mcpReq }) => {
    if (mcpReq.inputResponses !== undefined) return says('Capability-aware input requests fulfilled');
    const envelope = mcpReq.envelope as Record<string, ClientCapabilities> | undefined;
    const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY];
    return inputRequired({
      inputRequests: {
        ...(declared?.elicitation && { user_name: askName() }),
        ...(declared?.sampling && { greeting: askModel('Generate a short greeting') }),
        ...(declared?.roots && { client_roots: inputRequired.listRoots() }),
      },
    });
  },
};

const user = (content: unknown) => ({ role: 'user', content });

const prompts: Record<string, { arguments?: string[]; get: Run }> = {
  test_simple_prompt: {
    get: () => ({ messages: [user({ type: 'text', text: 'This is a simple prompt for testing.' })] }),
  },
  test_prompt_with_arguments: {
    arguments: ['arg1', 'arg2'],
    get: (_, { arg1, arg2 }) => ({
      messages: [user({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` })],
    }),
  },
  test_prompt_with_embedded_resource: {
    arguments: ['resourceUri'],
    get: (_, { resourceUri }) => ({
      messages: [
        user(embedded(String(resourceUri), 'text/plain', 'Embedded resource content for testing.')),
        user({ type: 'text', text: 'Please process the embedded resource above.' }),
      ],
    }),
  },
  test_prompt_with_image: {
    get: () => ({ messages: [user(image), user({ type: 'text', text: 'Please analyze the image above.' })] }),
  },
  test_input_required_result_prompt: {
    get: ({ mcpReq }) => {
      const context = acceptedContent<{ context: string }>(mcpReq.inputResponses, 'user_context')?.context;
      if (typeof context === 'string') {
        return { messages: [user({ type: 'text', text: `Use the following context: ${context}` })] };
      }
      const ask = inputRequired.elicit({ message: 'Which context?', requestedSchema: form('context') });
      return inputRequired({ inputRequests: { user_context: ask } });
    },
  },
};

const resources: Record<string, { mimeType: string; text?: string; blob?: string }> = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: image.data },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched resource content' },
};

/** Lays the fixtures over a server of the project. */
export function withFixtures(server: Server): Server {
  /** Replaces a handler by one that can call heddle's handler. */
  const over = (
    method: string,
    handle: (params: Record<string, unknown>, context: ServerContext, callHeddle: () => Promise<object>) => unknown,
  ): void => {
    type Handler = (request: unknown, context: ServerContext) => Promise<object>;
    const handlers = server as unknown as { _getRequestHandler: (name: string) => Handler | undefined };
    const callHeddle = handlers._getRequestHandler(method);
    server.setRequestHandler(
      method as never,
      ((request: { params?: Record<string, unknown> }, context: ServerContext) =>
        handle(request.params ?? {}, context, () => callHeddle?.(request, context) ?? Promise.resolve({}))) as never,
    );
  };
  const inFront = (method: string, member: string, added: object[]): void =>
    over(method, async (_, __, callHeddle) => {
      const listed = (await callHeddle()) as Record<string, object[]>;
      return { ...listed, [member]: [...added, ...(listed[member] ?? [])] };
    });

  inFront(
    'tools/list',
    'tools',
    Object.keys(tools).map((name) => ({ name, description: `Fixture ${name}`, inputSchema: { type: 'object' } })),
  );
  over('tools/call', (params, context, callHeddle) => {
    const tool = tools[params.name as string];
    return tool ? tool(context, (params.arguments ?? {}) as Record<string, unknown>) : callHeddle();
  });
  inFront(
    'prompts/list',
    'prompts',
    Object.entries(prompts).map(([name, prompt]) => ({
      name,
      description: `Fixture ${name}`,
      arguments: prompt.arguments?.map((argument) => ({ name: argument, description: argument, required: true })),
    })),
  );
  over('prompts/get', (params, context, callHeddle) => {
    const prompt = prompts[params.name as string];
    return prompt ? prompt.get(context, (params.arguments ?? {}) as Record<string, unknown>) : callHeddle();
  });
  inFront(
    'resources/list',
    'resources',
    Object.entries(resources).map(([uri, { mimeType }]) => ({ uri, name: uri, description: 'Fixture', mimeType })),
  );
  inFront('resources/templates/list', 'resourceTemplates', [
    { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
  ]);
  over('resources/read', ({ uri }, _, callHeddle) => {
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri as string)?.[1];
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    const resource = id === undefined ? resources[uri as string] : { mimeType: 'application/json', text };
    return resource ? { contents: [{ uri, ...resource }] } : callHeddle();
  });
  over('resources/subscribe', () => ({}));
  over('resources/unsubscribe', () => ({}));
  return server;
}
