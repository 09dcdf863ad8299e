export interface Created {
  status: number;
  retryAfter: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
  body: any;
}

/** Requests a new version of the evaluation `shared` from a service. */
export async function create(url: string, authorization: string, description: string): Promise<Created> {
  const response = await fetch(`${url}/v2/p/q/evaluations`, {
    method: 'POST',
    headers: { authorization },
    body: JSON.stringify({ name: 'shared', dataset: 'x:///d', description }),
  });
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() };
}

/** Runs tasks, at most `width` at the same time, and returns their results in order. */
export async function atOnce<T, R>(width: number, tasks: T[], run: (task: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < tasks.length; index = next++) results[index] = await run(tasks[index]!);
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}
