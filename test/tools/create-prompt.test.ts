import { describe, expect, it } from 'vitest';
import { startBothServices } from '../support/both-services.ts';
import { connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';

const services = await startBothServices();
const system = { role: 'system', content: 'You answer {customer}.' };

describe.each(services)('create_prompt on $name', ({ ada }) => {
  it('stores messages once, and names their placeholders', async () => {
    const prompt = { name: 'Kind answer', messages: [system, { role: 'user', content: '{question} as {{"json"}}' }] };
    const created = await ada.call('create_prompt', prompt);
    expect(created).toMatchObject({
      prompt_ref: expect.stringMatching(/^weave:\/\/\/team\/project\/object\/kind_answer:[A-Za-z0-9]{43}$/),
      variables: ['customer', 'question'],
      existed: false,
      text: `Stored: ${created.prompt_ref}. Placeholders: customer, question.`,
    });
    expect(await ada.call('read_object', { ref: created.prompt_ref })).toMatchObject({
      kind: 'prompt MessagesPrompt',
      val: { name: 'Kind answer', messages: prompt.messages },
      variables: ['customer', 'question'],
    });
    const again = await ada.call('create_prompt', prompt);
    expect(again).toMatchObject({
      prompt_ref: created.prompt_ref,
      existed: true,
      previous_version: 0,
      text: `Existed already: ${created.prompt_ref}. No version was added. Placeholders: customer, question.`,
    });
    expect(
      (await ada.call('list_objects', { kind: 'prompt', name: 'kind_answer', versions: true })).objects,
    ).toHaveLength(1);
  });

  it('refuses a role that chat completions do not have', async () => {
    const { error } = await ada.call('create_prompt', { name: 'robots', messages: [{ role: 'robot', content: 'Hi' }] });
    expect(error.message).toContain('must be one of system, developer, user, assistant, tool, function');
    expect((await ada.call('list_objects', { kind: 'prompt', name: 'robots' })).objects).toEqual([]);
  });

  it('says which version stays where other content gets the name', async () => {
    const first = await ada.call('create_prompt', { name: 'versions', text: 'One' });
    expect(first).not.toHaveProperty('previous_version');
    const second = await ada.call('create_prompt', { name: 'versions', text: 'Two' });
    expect(second).toMatchObject({
      existed: false,
      previous_version: 0,
      text: `Stored: ${second.prompt_ref}. It is a new version after version 0, which stays. It has no placeholders.`,
    });
    expect(await ada.call('create_prompt', { name: 'versions', text: 'One' })).toMatchObject({
      prompt_ref: first.prompt_ref,
      existed: true,
      previous_version: 1,
    });
  });

  it('stores a text as a message of the user', async () => {
    const { prompt_ref } = await ada.call('create_prompt', { name: 'short', text: 'Answer: {question}' });
    expect(await ada.call('read_object', { ref: prompt_ref })).toMatchObject({
      val: { messages: [{ role: 'user', content: 'Answer: {question}' }] },
    });
  });

  it('warns of a brace that belongs to no placeholder', async () => {
    const { warnings, variables } = await ada.call('create_prompt', { name: 'braces', text: 'Reply with {"a": 1' });
    expect(warnings).toEqual(['A { belongs to no placeholder; to fill placeholders, write {{ for it.']);
    expect(variables).toEqual([]);
  });

  it('refuses the name of an object of another class', async () => {
    await ada.call('create_scorer', { name: 'taken', kind: 'json_valid' });
    const { error } = await ada.call('create_prompt', { name: 'taken', text: 'Hello' });
    expect(error).toMatchObject({
      code: 'invalid_arguments',
      message: 'Nothing was stored: taken is the name of an object of the class Scorer.',
    });
    await ada.call('create_queue', { name: 'Rude answers', fields: [{ name: 'rude', type: 'boolean' }] });
    const ofField = await ada.call('create_prompt', { name: 'rude', text: 'Hello' });
    expect(ofField.error.message).toBe('Nothing was stored: rude is the name of a field of a queue.');
  });
});

describe('create_prompt', () => {
  it.each([[{ name: 'p' }], [{ name: 'p', text: 'Hi', messages: [system] }]])('refuses %j', async (args) => {
    const { call } = await connectClient(emptyHome(temporaryFolder()));
    expect((await call('create_prompt', args)).error).toMatchObject({
      code: 'invalid_arguments',
      message: 'Invalid arguments for create_prompt: arguments: needs either messages or text.',
    });
  });

  it('stores what run_inference fills', async () => {
    const { call } = await connectClient(emptyHome(temporaryFolder()));
    const { prompt_ref } = await call('create_prompt', { name: 'greeting', messages: [system] });
    const reply = await call('run_inference', {
      model: 'heddle/echo',
      prompt: prompt_ref,
      template_vars: { customer: 'Ada' },
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(reply.text).toContain('You answer Ada.');
  });
});
