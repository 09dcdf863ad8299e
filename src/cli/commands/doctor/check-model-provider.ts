import { undefinedOnError } from '../../../core/errors.ts';
import { readBody } from '../../../core/http/http-client.ts';
import { ownMember } from '../../../core/json/member-at.ts';
import type { ResolvedSettings } from '../../../settings/resolve-settings.ts';
import { pluralize } from '../../../text/page.ts';
import { invocation } from '../../invocation.ts';
import { type Finding, failure, ok, warning } from './finding.ts';
import { requestOnce } from './request-once.ts';

/** A list of models is never larger, and another page is not read as a whole. */
const maxBodyBytes = 4 * 1024 * 1024;

/** Asks the API that the embedded service forwards inference to for its models, which costs nothing. */
export async function checkModelProvider({ values }: ResolvedSettings): Promise<Finding[]> {
  const { baseUrl, modelProviderUrl: url, modelProviderKey: key } = values;
  if (baseUrl !== undefined || url === undefined) return [];
  invocation().redactor.protect(key);
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const check = 'model provider';
  const response = await requestOnce(`${url}/models`, headers, values).catch((error: Error) => error);
  if (response instanceof Error) {
    const advice = 'Start the model provider, or correct HEDDLE_MODEL_PROVIDER_URL.';
    return [failure(check, `${url} cannot be reached: ${response.message}`, advice)];
  }
  const { status, body } = response;
  const { bytes } = await readBody(body, maxBodyBytes);
  if (status === 401 || status === 403) {
    const problem = key === undefined ? 'needs a key' : 'rejects the key';
    return [failure(check, `${url} ${problem} (status ${status})`, 'Set HEDDLE_MODEL_PROVIDER_KEY to a valid key.')];
  }
  if (status >= 500) {
    return [failure(check, `${url} fails (status ${status})`, 'Look into the log of the model provider.')];
  }
  const models = status === 200 ? countModels(bytes.toString()) : undefined;
  if (models !== undefined) return [ok(check, `${url} has ${pluralize(models, 'model')}`)];
  const advice = 'Check that the URL ends as its API says, mostly in /v1. Some providers cannot list their models.';
  return [warning(check, `${url} responds, but lists no models (status ${status})`, advice)];
}

function countModels(text: string): number | undefined {
  const list: unknown = undefinedOnError(() => JSON.parse(text));
  const data = ownMember(list, 'data');
  return Array.isArray(data) ? data.length : undefined;
}
