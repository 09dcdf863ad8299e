import { createServer } from 'node:http';
import { ChatModel } from '../../../bench/agent/chat-model.ts';
import { listen } from '../../../src/core/http/listen.ts';
import { onEnd } from '../../support/on-end.ts';

/** The next step of a model; arguments that are text are sent as they are. */
type Step = { call: string; args: Record<string, unknown> | string } | { say: string };

/** The steps of a model, which receives what it is shown after each of them. */
export type Trajectory = () => Generator<Step, void, string>;

/** Calls a tool and returns its structured result, or the text of an error. */
// biome-ignore lint/suspicious/noExplicitAny: trajectories look into results of every shape
export function* call(tool: string, args: Record<string, unknown> | string = {}): Generator<Step, any, string> {
  const shown = yield { call: tool, args };
  return shown.startsWith('{') ? JSON.parse(shown) : shown;
}

/** Answers the user; continues with the user's next message. */
export function* say(text: string): Generator<Step, void, string> {
  yield { say: text };
}

/** Starts a server that has the interface of a model and plays one trajectory, until the test ends. */
export async function startScriptedModel(
  trajectory: Trajectory,
  // biome-ignore lint/suspicious/noExplicitAny: requests are looked into by tests
): Promise<{ model: ChatModel; url: string; requests: any[] }> {
  const steps = trajectory();
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const requests: any[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    requests.push(JSON.parse(body));
    const { done, value } = steps.next(requests.at(-1).messages.at(-1).content);
    if (done) {
      response.writeHead(400).end('the trajectory has ended');
      return;
    }
    const message =
      'say' in value
        ? { role: 'assistant', content: value.say }
        : {
            role: 'assistant',
            content: null,
            tool_calls: [
              {
                id: `call_${requests.length}`,
                type: 'function',
                function: {
                  name: value.call,
                  arguments: typeof value.args === 'string' ? value.args : JSON.stringify(value.args),
                },
              },
            ],
          };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices: [{ message }] }));
  });
  const url = `${await listen(server, 0, '127.0.0.1')}/v1`;
  onEnd(() => void server.close());
  return { model: new ChatModel({ model: 'scripted', baseUrl: url }), url, requests };
}
