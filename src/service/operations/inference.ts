import type { InferenceRequest } from '../../contract/inference.ts';
import { parseReference } from '../../contract/references.ts';
import { refusal } from '../http/refusal.ts';
import { applyTemplateVars } from '../inference/template-variables.ts';
import type { Database } from '../storage/database.ts';
import { readVersion } from '../storage/object-versions.ts';

/**
 * The messages that a model gets (interface 4.2): those of the stored prompt, then those of the request, with the
 * variables filled in. Undefined where the request has neither.
 */
export async function effectiveMessages(
  database: Database,
  { prompt, messages, template_vars }: InferenceRequest,
): Promise<unknown[] | undefined> {
  if (prompt == null && messages === undefined) return undefined;
  const stored = prompt == null ? [] : await promptMessages(database, prompt);
  return applyTemplateVars([...stored, ...(messages ?? [])], template_vars);
}

async function promptMessages(database: Database, reference: string): Promise<unknown[]> {
  if (!parseReference(reference)) throw refusal(400, `Invalid URI: ${reference}`);
  const prompt = await database.read((transaction) => readVersion(transaction, reference, 'prompt'));
  if (!prompt) throw refusal(404, `Prompt ${reference} not found`);
  return (prompt as { messages: unknown[] }).messages;
}
