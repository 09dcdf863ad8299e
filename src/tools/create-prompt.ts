import * as z from 'zod';
import { objectName } from '../contract/object-name.ts';
import { classMembers } from '../contract/objects.ts';
import { findPlaceholders, templateTexts } from '../contract/prompts.ts';
import { objectIdOf, objectReference } from '../contract/references.ts';
import { comparedWith, versionMembers, versionSentence, versionsOfName } from '../records/read-objects.ts';
import { cell } from '../text/compact-table.ts';
import { shortName } from '../text/names.ts';
import { defineTool, projectArgument, projectOf } from './definition/tool.ts';

/** The roles of the messages of a chat completion. */
const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];

const input = z
  .strictObject({
    name: objectName,
    messages: z
      .array(
        z.looseObject({
          role: z.string().refine((role) => roles.includes(role), `must be one of ${roles.join(', ')}`),
        }),
      )
      .min(1)
      .optional(),
    text: z.string().min(1).optional().describe('Instead of messages.'),
    description: z.string().optional(),
    project_id: projectArgument('Project of the prompt'),
  })
  .superRefine(({ messages, text }, context) => {
    if ((messages === undefined) === (text === undefined)) {
      context.addIssue({ code: 'custom', message: 'needs either messages or text' });
    }
  });

const output = z.object({
  prompt_ref: z.string().describe('Reference to the version, for run_inference and run_evaluation.'),
  variables: z.array(z.string()),
  ...versionMembers,
  warnings: z.array(z.string()).optional(),
});

type CreatedPrompt = z.output<typeof output>;

export const createPromptTool = defineTool({
  name: 'create_prompt',
  title: 'Create prompt',
  groups: ['inference', 'evaluation'],
  uses: ['createObject'],
  description: `Stores a prompt with {placeholders}; {{ and }} are braces.
Example: {"name":"Kind answer","text":"Answer kindly: {question}"}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ name, text, messages, description, ...query }, context): Promise<CreatedPrompt> {
    const project = projectOf(query, context);
    const versions = await versionsOfName(name, 'Prompt', project, context.service);
    const content = { messages: messages ?? [{ role: 'user', content: text }], description: description ?? null };
    const stored = await context.withoutSecrets(content);
    const { names, loneBrace } = findPlaceholders(templateTexts(stored.messages));
    const warnings = [
      ...(stored === content ? [] : ['Secrets in the prompt were replaced by [secret].']),
      ...(loneBrace === undefined
        ? []
        : [`A ${loneBrace} belongs to no placeholder; to fill placeholders, write ${loneBrace}${loneBrace} for it.`]),
    ];
    const object_id = objectIdOf(name);
    const val = { ...classMembers('Prompt', 'MessagesPrompt'), name, ...stored };
    const { digest } = await context.service.call('createObject', {
      body: { obj: { project_id: project, object_id, val } },
    });
    return {
      prompt_ref: objectReference(project, object_id, digest),
      variables: names.map(shortName),
      ...comparedWith(versions, digest),
      ...(warnings.length > 0 && { warnings }),
    };
  },

  render({ prompt_ref, variables, warnings = [], ...facts }: CreatedPrompt) {
    const filled =
      variables.length === 0 ? 'It has no placeholders.' : `Placeholders: ${variables.map(cell).join(', ')}.`;
    const verb = facts.existed ? 'Existed already' : 'Stored';
    return [`${verb}: ${cell(prompt_ref)}.${versionSentence(facts)} ${filled}`, ...warnings].join('\n');
  },
});
