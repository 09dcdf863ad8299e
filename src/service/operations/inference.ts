import type { BodyOf } from '../../contract/endpoints.ts';
import { echoModel } from '../../contract/inference.ts';
import { parseReference } from '../../contract/references.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { echoModels, readEchoModel, runEchoModel } from '../inference/echo-model.ts';
import { applyTemplateVariables } from '../inference/template-variables.ts';
import type { Database } from '../storage/database.ts';
import { type Access, readPrompt } from '../storage/object-versions.ts';
import type { OperationHandler } from './operation.ts';

/** Runs inference with the model provider, or with the echo model when it is named or there is no provider. */
export const runInference: OperationHandler<'runInference'> = async (input, { database, modelProvider }) => {
  const messages = await effectiveMessages(database, input.body, input);
  if (!modelProvider || input.body.model === echoModel) {
    return runEchoModel(input.path.path, input.body, messages ?? []);
  }
  await modelProvider.infer(input.path.path, input.body, messages, input.response);
};

/** Lists the models of the model provider, or the echo model when there is none. */
export const listModels: OperationHandler<'listModels'> = async ({ response }, { modelProvider }) => {
  if (!modelProvider) return echoModels();
  await modelProvider.listModels(response);
};

/** Reads the echo model, or another one of the model provider. */
export const readModel: OperationHandler<'readModel'> = async ({ path, response }, { modelProvider }) => {
  const id = path.path.slice(1);
  if (!modelProvider || id === echoModel) return readEchoModel(id);
  await modelProvider.readModel(id, response);
};

/**
 * Returns the messages for the model: those of the stored prompt, then those of the request, with the variables applied;
 * undefined when the request has neither.
 */
async function effectiveMessages(
  database: Database,
  { prompt, messages, template_vars }: BodyOf<'runInference'>,
  access: Access,
): Promise<unknown[] | undefined> {
  if (prompt == null && messages === undefined) return undefined;
  const stored = prompt == null ? [] : await promptMessages(database, prompt, access);
  const hasVariables = Object.keys(template_vars ?? {}).length > 0;
  return applyTemplateVariables([...stored, ...(messages ?? [])], hasVariables ? template_vars! : undefined);
}

async function promptMessages(database: Database, reference: string, access: Access): Promise<unknown[]> {
  if (!parseReference(reference)) throw new Refusal(400, `Invalid URI: ${reference}`);
  const prompt = await database.read((transaction) => readPrompt(transaction, reference, access));
  if (!prompt) throw new Refusal(404, `Prompt ${reference} not found`);
  const { messages } = prompt as { messages?: unknown };
  if (!Array.isArray(messages)) throw new Refusal(400, `Prompt ${reference} has no messages`);
  return messages;
}
