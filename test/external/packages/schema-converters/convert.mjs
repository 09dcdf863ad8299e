// Asks a model through one library, with the tools that the library's own MCP client lists, and prints as JSON the tools of
// the request to the model. Nothing leaves the machine. With arguments of query_queue_items as JSON, it calls that tool
// instead, as if the model had, and prints what the model would read. Usage:
// node convert.mjs LIBRARY ARGUMENTS|'' COMMAND ARGUMENT...
const [library, toolArguments, command, ...args] = process.argv.slice(2);
const server = { command, args, env: { ...process.env }, stderr: 'ignore' };
const tool = 'query_queue_items';
const apiKey = 'none';
const prompt = 'Hello';

/** Bodies of the requests to the model. */
const bodies = [];

// Records each request to the model. Refusing it ends the conversation.
globalThis.fetch = async (input, init) => {
  bodies.push(JSON.parse(input instanceof Request ? await input.text() : init.body));
  if (toolArguments && bodies.length === 1) return Response.json(responseWithCall);
  return Response.json({ error: { code: 400, message: 'recorded', status: 'INVALID_ARGUMENT' } }, { status: 400 });
};

/** Response of OpenAI's Responses API in which the model calls the tool. */
const responseWithCall = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'gpt-5',
  output: [
    { type: 'function_call', id: 'fc_1', call_id: 'call_1', status: 'completed', name: tool, arguments: toolArguments },
  ],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
};

function ignoreRefusal(error) {
  if (bodies.length === 0) throw error;
}

async function withAiSdk(model) {
  const { generateText } = await import('ai');
  const { createMCPClient } = await import('@ai-sdk/mcp');
  const { Experimental_StdioMCPTransport } = await import('@ai-sdk/mcp/mcp-stdio');
  const client = await createMCPClient({ transport: new Experimental_StdioMCPTransport(server) });
  await generateText({ model, tools: await client.tools(), prompt, maxRetries: 0 }).catch(ignoreRefusal);
  await client.close();
}

async function withLangChain(model) {
  const { MultiServerMCPClient } = await import('@langchain/mcp-adapters');
  const client = new MultiServerMCPClient({ mcpServers: { heddle: { transport: 'stdio', ...server } } });
  try {
    const tools = await client.getTools();
    if (toolArguments) return await tools.find(({ name }) => name === tool).invoke(JSON.parse(toolArguments));
    await model.bindTools(tools).invoke(prompt).catch(ignoreRefusal);
  } finally {
    await client.close();
  }
}

async function withAgents(convertSchemasToStrict) {
  const { Agent, MCPServerStdio, run, setDefaultOpenAIKey, setTracingDisabled } = await import('@openai/agents');
  setTracingDisabled(true);
  setDefaultOpenAIKey(apiKey);
  const mcpServer = new MCPServerStdio({ name: 'heddle', ...server });
  await mcpServer.connect();
  const mcpConfig = { convertSchemasToStrict };
  await run(new Agent({ name: 'agent', model: 'gpt-5', mcpServers: [mcpServer], mcpConfig }), prompt).catch(
    ignoreRefusal,
  );
  await mcpServer.close();
  return bodies[1]?.input.find(({ type }) => type === 'function_call_output').output;
}

const libraries = {
  'ai-sdk-openai': async () => {
    const { createOpenAI } = await import('@ai-sdk/openai');
    await withAiSdk(createOpenAI({ apiKey })('gpt-5'));
  },
  'ai-sdk-google': async () => {
    const { createGoogle } = await import('@ai-sdk/google');
    await withAiSdk(createGoogle({ apiKey })('gemini-3-pro'));
  },
  'langchain-openai': async () => {
    const { ChatOpenAI } = await import('@langchain/openai');
    return withLangChain(new ChatOpenAI({ apiKey, model: 'gpt-5', maxRetries: 0 }));
  },
  'langchain-google': async () => {
    const { ChatGoogleGenerativeAI } = await import('@langchain/google-genai');
    await withLangChain(new ChatGoogleGenerativeAI({ apiKey, model: 'gemini-3-pro', maxRetries: 0 }));
  },
  'openai-agents': () => withAgents(false),
  'openai-agents-strict': () => withAgents(true),
  'google-genai': async () => {
    const { GoogleGenAI, mcpToTool } = await import('@google/genai');
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const client = new Client({ name: 'gemini', version: '1.0.0' });
    await client.connect(new StdioClientTransport(server));
    const request = { model: 'gemini-3-pro', contents: prompt, config: { tools: [mcpToTool(client)] } };
    await new GoogleGenAI({ apiKey }).models.generateContent(request).catch(ignoreRefusal);
    await client.close();
  },
};

const result = await libraries[library]();
console.log(JSON.stringify(toolArguments ? result : bodies[0].tools));
