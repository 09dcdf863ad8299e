import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call, emptyHome, run, temporaryFolder } from '../support/heddle.ts';

const prompt = 'weave:///demo/support/object/greeting:latest';

async function withPrompt(): Promise<Record<string, string>> {
  const folder = temporaryFolder();
  const environment = emptyHome(folder);
  const file = join(folder, 'greeting.json');
  writeFileSync(file, JSON.stringify([{ role: 'system', content: 'You speak for {product}. {{not a variable}}' }]));
  const { code } = await run(['service', 'put-prompt', 'greeting', file, '--project', 'demo/support'], environment);
  expect(code).toBe(0);
  return environment;
}

const messages = [
  { role: 'user', content: [{ type: 'text', text: 'Hello {name}, {{braces}} stay' }] },
  { role: 'assistant', content: 'I say {name} as it is' },
];

test('messages of the prompt come first, variables are replaced in both, double braces become single ones', async () => {
  const environment = await withPrompt();
  const { code, result } = await call(
    'run_inference',
    { model: 'heddle/echo', prompt, messages, template_vars: { product: 'the app', name: 'Ada {product}' } },
    environment,
  );
  expect(code).toBe(0);
  expect(result.finish_reason).toBe('stop');
  const echoed = JSON.parse(result.text.slice(result.text.indexOf('\n')));
  expect(echoed).toEqual([
    { role: 'system', content: 'You speak for the app. {not a variable}' },
    { role: 'user', content: [{ type: 'text', text: 'Hello Ada {product}, {braces} stay' }] },
    { role: 'assistant', content: 'I say {name} as it is' },
  ]);
});

test('a streamed reply is the same as one in one piece', async () => {
  const environment = emptyHome(temporaryFolder());
  const request = { model: 'heddle/echo', messages: [{ role: 'user', content: 'stream me' }] };
  const whole = await call('run_inference', request, environment);
  const streamed = await call('run_inference', { ...request, stream: true }, environment);
  expect(streamed.result.text).toBe(whole.result.text);
  expect(streamed.result.usage).toEqual(whole.result.usage);
  expect(streamed.result.response.object).toBe('chat.completion');
});

test.each([
  ['a missing variable', { prompt, template_vars: { other: 'x' } }, 'invalid_request', 'product'],
  ['an unknown prompt', { prompt: 'weave:///demo/support/object/nowhere:latest' }, 'not_found', 'nowhere'],
  ['an unknown model', { model: 'gpt-none' }, 'not_found', 'gpt-none'],
])('%s is an error that names it', async (_, request, code, name) => {
  const environment = await withPrompt();
  const failed = await call('run_inference', { model: 'heddle/echo', ...request }, environment);
  expect(failed.code).toBe(1);
  expect(failed.result.code).toBe(code);
  expect(failed.result.message).toContain(name);
});
