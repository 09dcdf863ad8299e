/**
 * Splits a `postgres://` URL that may list several hosts, like `postgres://user@one:5432,two:5432/name`, into one URL for
 * each of them, in their order.
 * @returns undefined for text that is not such a URL.
 */
export function databaseUrls(text: string): URL[] | undefined {
  const [, start, hosts, rest] = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is.exec(text) ?? [];
  if (hosts === undefined) return undefined;
  const urls = hosts.split(',').map((host) => `${start}${host}${rest}`);
  const isEmptyHost = hosts.split(',').length > 1 && hosts.split(',').some((host) => /^(:|$)/.test(host));
  return isEmptyHost || !urls.every((url) => URL.canParse(url)) ? undefined : urls.map((url) => new URL(url));
}

/** Names where data is: the path of a file, or a database and its hosts, without user names and secrets. */
export function describeData(urlOrPath: string): string {
  if (!isPostgresUrl(urlOrPath)) return urlOrPath;
  const urls = databaseUrls(urlOrPath) ?? [];
  const hosts = urls
    .map(({ host, searchParams }) => decodeURIComponent(host) || searchParams.get('host'))
    .filter(Boolean);
  return (
    `the database ${urls[0]?.pathname.slice(1) ?? ''}`.trimEnd() + (hosts.length > 0 ? ` at ${hosts.join(', ')}` : '')
  );
}

/** Returns whether a text names a PostgreSQL database by its URL, rather than a file. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:/.test(text);
}
