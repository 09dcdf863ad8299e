import type { ResolvedSettings } from '../../../settings/resolve-settings.ts';
import { invocation } from '../../invocation.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

const timeoutMs = 5_000;
/** A list of models is never larger, and another page is not read as a whole. */
const maxBodyBytes = 4 * 1024 * 1024;

/** Asks the API that the embedded service forwards inference to for its models, which costs nothing. */
export async function checkModelProvider({ values }: ResolvedSettings): Promise<Finding[]> {
  const { baseUrl, modelProviderUrl: url, modelProviderKey: key } = values;
  if (baseUrl !== undefined || url === undefined) return [];
  invocation().redactor.protect(key);
  const response = await fetch(`${url}/models`, {
    redirect: 'manual',
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: Error) => error);
  const check = 'model provider';
  if (response instanceof Error) {
    const reason = response.name === 'TimeoutError' ? `no response within ${timeoutMs} ms` : reasonOf(response);
    const advice = 'Start the model provider, or correct HEDDLE_MODEL_PROVIDER_URL.';
    return [failure(check, `${url} cannot be reached: ${reason}`, advice)];
  }
  const { status } = response;
  if (status === 401 || status === 403) {
    await response.body?.cancel();
    const problem = key === undefined ? 'needs a key' : 'rejects the key';
    return [failure(check, `${url} ${problem} (status ${status})`, 'Set HEDDLE_MODEL_PROVIDER_KEY to a valid key.')];
  }
  if (status >= 500) {
    await response.body?.cancel();
    return [failure(check, `${url} fails (status ${status})`, 'Look into the log of the model provider.')];
  }
  const models = status === 200 ? await countModels(response) : undefined;
  if (status !== 200) await response.body?.cancel();
  if (models !== undefined) return [ok(check, `${url} has ${models} ${models === 1 ? 'model' : 'models'}`)];
  const advice = 'Check that the URL ends as its API says, mostly in /v1. Some providers cannot list their models.';
  return [warning(check, `${url} responds, but lists no models (status ${status})`, advice)];
}

async function countModels(response: Response): Promise<number | undefined> {
  try {
    let text = '';
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (text.length > maxBodyBytes) return undefined;
    }
    const { data } = JSON.parse(text) as { data?: unknown };
    return Array.isArray(data) ? data.length : undefined;
  } catch {
    return undefined;
  }
}

function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error && cause.message !== ''
    ? cause.message
    : ((cause as NodeJS.ErrnoException)?.code ?? message);
}
