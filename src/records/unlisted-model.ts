import { asServiceFailure } from '../client/as-service-failure.ts';
import type { ServiceClient } from '../client/service-client.ts';
import { echoModel } from '../contract/inference.ts';
import { HeddleError } from '../core/errors.ts';
import { nearestSentence, shortName } from '../text/names.ts';
import { knownProjects } from './require-project.ts';

/** Longest time that the list of models may take, in milliseconds: the request to a model matters more. */
const maxListMs = 5000;

interface ModelCheck {
  service: ServiceClient;
  project?: string;
}

/**
 * Returns the models that are not listed, and a sentence about the first with the nearest; undefined if there are none, and also where
 * there is no list: without access to inference, the run will tell.
 */
async function unlistedModels(
  models: readonly string[],
  { service, project }: ModelCheck,
): Promise<{ unlisted: string[]; sentence: string } | undefined> {
  const { listedModels } = service.facts;
  if (models.every((model) => listedModels.has(model))) return undefined;
  try {
    const signal = AbortSignal.any([AbortSignal.timeout(maxListMs), ...(service.signal ? [service.signal] : [])]);
    const { data } = await service.withSignal(signal).call('listModels', {}, { project });
    const ids = data.map(({ id }) => id);
    for (const id of ids) listedModels.add(id);
    if (ids.length === 0 || models.every((each) => ids.includes(each))) return undefined;
    // Heddle's own service has the echo model in any case; the list of a model provider does not name it.
    const known = (await knownProjects(service)) === undefined ? ids : [...new Set([...ids, echoModel])];
    const unlisted = [...new Set(models)].filter((each) => !known.includes(each));
    const [model] = unlisted;
    if (model === undefined) return undefined;
    const nearest = nearestSentence('models', model, known);
    return { unlisted, sentence: `Inference does not list the model ${shortName(model)}. ${nearest}` };
  } catch (error) {
    asServiceFailure(error, service);
    return undefined;
  }
}

/**
 * Checks that inference lists models before anything is sent to them, or that those which are not listed reply.
 * @param confirm whether the user says that the models exist: some providers have more than they list. Those that are not listed are
 * then sent a short request, but not in a dry run.
 * @returns a warning about a model that is not listed. The public service has models of other providers too, so there it is not asked.
 * @throws HeddleError `not_found` for one that the embedded service does not list, and unless it replies or the user says that it exists.
 */
export async function checkModels(
  models: readonly string[],
  { consequence, confirm, dry_run = false }: { consequence: string; confirm: boolean; dry_run?: boolean | undefined },
  check: ModelCheck,
): Promise<string | undefined> {
  const { unlisted, sentence } = (await unlistedModels(models, check)) ?? {};
  if (unlisted === undefined || (await knownProjects(check.service)) === undefined) return sentence;
  if (!confirm) {
    throw new HeddleError({
      code: 'not_found',
      message: `${consequence}. ${sentence}`,
      hint: 'Use a model that is listed. If the user says that this one exists, call again with confirm; it is then asked for a short reply first.',
      terminalHint: 'Use a model that is listed, or add --yes if this one exists.',
    });
  }
  if (!dry_run) for (const model of unlisted) await requireReply(model, `${consequence}. ${sentence}`, check);
  return sentence;
}

/** @throws HeddleError `not_found` with a message about a model that does not reply to a short request. */
async function requireReply(model: string, message: string, { service, project }: ModelCheck): Promise<void> {
  const body = { model, messages: [{ role: 'user', content: 'Reply with the word yes.' }] };
  try {
    await service.call('runInference', { path: { path: '/chat/completions' }, body }, { project });
  } catch (error) {
    const failure = asServiceFailure(error, service);
    throw new HeddleError({
      code: 'not_found',
      message: `${message} Asked for a short reply, ${shortName(model)} failed: ${failure.message}`,
      hint: 'Use a model that is listed, or ask the user for the exact name.',
      cause: failure,
    });
  }
}

/** Returns an error of inference; one that says that something does not exist has the nearest models, where the model is not listed. */
export async function withNearestModel(error: unknown, model: string, check: ModelCheck): Promise<unknown> {
  if (!(error instanceof HeddleError) || error.code !== 'not_found') return error;
  const { sentence } = (await unlistedModels([model], check)) ?? {};
  if (sentence === undefined) return error;
  return new HeddleError({ ...error, message: `${error.message} ${sentence}`, cause: error });
}
