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

/** Returns whether a text names a PostgreSQL database by its URL, rather than a file. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:/.test(text);
}
