import { asServiceFailure } from '../client/as-service-failure.ts';
import type { ServiceClient } from '../client/service-client.ts';
import { nearestSentence, shortName } from '../text/names.ts';

/**
 * Returns a sentence about a model that the service does not list, with the nearest that it lists.
 * @returns undefined for a model that is listed, and where there is no list: without access to inference, the run will tell.
 */
export async function unlistedModel(
  models: readonly string[],
  { service, project }: { service: ServiceClient; project?: string },
): Promise<string | undefined> {
  try {
    const { data } = await service.call('listModels', {}, { project });
    const ids = data.map(({ id }) => id);
    const unlisted = ids.length === 0 ? undefined : models.find((model) => !ids.includes(model));
    if (unlisted === undefined) return undefined;
    return `Inference does not list the model ${shortName(unlisted)}. ${nearestSentence('models', unlisted, ids)}`;
  } catch (error) {
    asServiceFailure(error, service);
    return undefined;
  }
}
