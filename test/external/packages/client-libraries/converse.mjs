// Sends a prompt to a model through one library, with heddle's tools from the library's own MCP client. Usage:
// node converse.mjs LIBRARY MODEL_URL PROMPT COMMAND ARGUMENT...
const [library, url, prompt, command, ...args] = process.argv.slice(2);
const server = { command, args, env: { ...process.env }, stderr: 'ignore' };
const openaiUrl = `${url}/v1`;
const googleUrl = `${url}/v1beta`;
const apiKey = 'none';

async function withAiSdk(model) {
  const { isStepCount, streamText } = await import('ai');
  const { createMCPClient } = await import('@ai-sdk/mcp');
  const { Experimental_StdioMCPTransport } = await import('@ai-sdk/mcp/mcp-stdio');
  const client = await createMCPClient({ transport: new Experimental_StdioMCPTransport(server) });
  const tools = await client.tools();
  const text = await streamText({ model, tools, prompt, maxRetries: 0, stopWhen: isStepCount(9) }).text;
  await client.close();
  return text;
}

async function withLangChain(llm) {
  const { MultiServerMCPClient } = await import('@langchain/mcp-adapters');
  const { createReactAgent } = await import('@langchain/langgraph/prebuilt');
  const client = new MultiServerMCPClient({ mcpServers: { heddle: { transport: 'stdio', ...server } } });
  const agent = createReactAgent({ llm, tools: await client.getTools() });
  const input = { messages: [{ role: 'user', content: prompt }] };
  let text = '';
  // Without a stream of messages it asks the model for a whole reply.
  for await (const [message] of await agent.stream(input, { streamMode: 'messages' })) text += message.text;
  await client.close();
  return text;
}

async function withAgents(convertSchemasToStrict) {
  const { Agent, MCPServerStdio, OpenAIProvider, Runner } = await import('@openai/agents');
  const mcpServer = new MCPServerStdio({ name: 'heddle', ...server });
  await mcpServer.connect();
  const agent = new Agent({
    name: 'agent',
    model: 'gpt-5',
    mcpServers: [mcpServer],
    mcpConfig: { convertSchemasToStrict },
  });
  const modelProvider = new OpenAIProvider({ apiKey, baseURL: openaiUrl });
  const result = await new Runner({ modelProvider, tracingDisabled: true }).run(agent, prompt, { stream: true });
  await result.completed;
  await mcpServer.close();
  return result.finalOutput;
}

async function withMastra(model) {
  const { Agent } = await import('@mastra/core/agent');
  const { MCPClient } = await import('@mastra/mcp');
  const client = new MCPClient({ servers: { heddle: server } });
  const agent = new Agent({ id: 'agent', name: 'agent', instructions: '', model, tools: await client.listTools() });
  const text = await (await agent.stream(prompt, { maxSteps: 9 })).text;
  await client.disconnect();
  return text;
}

const libraries = {
  'ai-sdk-openai': async () => {
    const { createOpenAI } = await import('@ai-sdk/openai');
    return withAiSdk(createOpenAI({ apiKey, baseURL: openaiUrl })('gpt-5'));
  },
  'ai-sdk-google': async () => {
    const { createGoogle } = await import('@ai-sdk/google');
    return withAiSdk(createGoogle({ apiKey, baseURL: googleUrl })('gemini-3-pro'));
  },
  'google-genai': async () => {
    const { GoogleGenAI, mcpToTool } = await import('@google/genai');
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const client = new Client({ name: 'gemini', version: '1.0.0' });
    await client.connect(new StdioClientTransport(server));
    const { models } = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url } });
    const config = { tools: [mcpToTool(client)] };
    let text = '';
    for await (const chunk of await models.generateContentStream({ model: 'gemini-3-pro', contents: prompt, config })) {
      text += chunk.text ?? '';
    }
    await client.close();
    return text;
  },
  'langchain-google': async () => {
    const { ChatGoogleGenerativeAI } = await import('@langchain/google-genai');
    const model = { model: 'gemini-3-pro', maxRetries: 0 };
    return withLangChain(new ChatGoogleGenerativeAI({ apiKey, baseUrl: url, ...model }));
  },
  'langchain-openai': async () => {
    const { ChatOpenAI } = await import('@langchain/openai');
    const model = { model: 'gpt-5', maxRetries: 0 };
    return withLangChain(new ChatOpenAI({ apiKey, configuration: { baseURL: openaiUrl }, ...model }));
  },
  llamaindex: async () => {
    const { openai } = await import('@llamaindex/openai');
    const { mcp } = await import('@llamaindex/tools');
    const { agent } = await import('@llamaindex/workflow');
    const client = mcp(server);
    const llm = openai({ apiKey, baseURL: openaiUrl, model: 'gpt-4.1', maxRetries: 0 });
    const { data } = await agent({ llm, tools: await client.tools() }).run(prompt);
    await client.cleanup();
    return data.result;
  },
  'mastra-google': async () => {
    const { createGoogle } = await import('@ai-sdk/google');
    return withMastra(createGoogle({ apiKey, baseURL: googleUrl })('gemini-3-pro'));
  },
  'mastra-openai': async () => {
    const { createOpenAI } = await import('@ai-sdk/openai');
    return withMastra(createOpenAI({ apiKey, baseURL: openaiUrl })('gpt-5'));
  },
  'openai-agents': () => withAgents(false),
  'openai-agents-strict': () => withAgents(true),
};

try {
  console.log(await libraries[library]());
} catch (error) {
  console.error(error);
  // The server of a conversation that failed would keep this process alive.
  process.exit(1);
}
