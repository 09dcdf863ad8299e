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
 * Returns a sentence about the first model that is not listed, with the nearest; undefined if there is none, and also where there is no
 * list: without access to inference, the run will tell.
 */
async function unlistedModel(models: readonly string[], { service, project }: ModelCheck): Promise<string | undefined> {
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
    const model = models.find((each) => !known.includes(each));
    if (model === undefined) return undefined;
    const nearest = nearestSentence('models', model, known);
    return `Inference does not list the model ${shortName(model)}. ${nearest}`;
  } catch (error) {
    asServiceFailure(error, service);
    return undefined;
  }
}

/**
 * Checks that inference lists models before anything is sent to them.
 * @returns a warning about a model that is not listed and may exist all the same: the public service has models of other providers
 * too, and the user may know better.
 * @throws HeddleError `not_found` for one that the embedded service does not list, unless the user has confirmed.
 */
export async function checkModels(
  models: readonly string[],
  { consequence, confirm }: { consequence: string; confirm: boolean },
  check: ModelCheck,
): Promise<string | undefined> {
  const sentence = await unlistedModel(models, check);
  if (sentence === undefined || confirm || (await knownProjects(check.service)) === undefined) return sentence;
  throw new HeddleError({
    code: 'not_found',
    message: `${consequence}. ${sentence}`,
    hint: 'Use a model that is listed. If the user says that this one exists, call again with confirm; on the command line add --yes.',
    terminalHint: 'Use a model that is listed, or add --yes if this one exists.',
  });
}

/** Returns an error of inference; one that says that something does not exist has the nearest models, where the model is not listed. */
export async function withNearestModel(error: unknown, model: string, check: ModelCheck): Promise<unknown> {
  if (!(error instanceof HeddleError) || error.code !== 'not_found') return error;
  const sentence = await unlistedModel([model], check);
  if (sentence === undefined) return error;
  return new HeddleError({ ...error, message: `${error.message} ${sentence}`, cause: error });
}
