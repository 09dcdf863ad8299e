const pattern =
  /^(\d{4}-\d\d-\d\d)[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)?(?:[Zz]|([+-](?:[01]\d|2[0-3]))(?::?([0-5]\d))?)?$/;

/**
 * The forms that the SDKs of JavaScript and Python send, of every day but 29 February. A Date of each would take twenty times as long.
 */
const utcPattern =
  /^\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}(?:\d{3})?Z$/;

/**
 * Converts an ISO 8601 date and time to UTC with microseconds, 27 characters, cutting off finer fractions. A time without a
 * zone is UTC. Returns undefined for any other text and for dates that do not exist.
 */
export function normalizeTimestamp(text: string): string | undefined {
  if (utcPattern.test(text)) return text.length === 27 ? text : `${text.slice(0, -1)}000Z`;
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, date, minutes, seconds = '00', fraction = '', zoneHours = '+00', zoneMinutes = '00'] = match;
  // Date accepts 30 February and moves it to March.
  if (!new Date(date!).toJSON()?.startsWith(date!)) return undefined;
  const digits = fraction.slice(0, 6).padEnd(6, '0');
  const utc = new Date(`${date}T${minutes}:${seconds}.${digits.slice(0, 3)}${zoneHours}:${zoneMinutes}`).toJSON();
  // A year before 0 or after 9999 makes the text longer, which would break its order.
  return utc?.length === 24 ? `${utc.slice(0, -1)}${digits.slice(3)}Z` : undefined;
}

/** Removes the microseconds of a time that {@link normalizeTimestamp} returned, if they are zero. */
export function shortTimestamp(utc: string): string {
  return utc.length === 27 && utc.endsWith('000Z') ? `${utc.slice(0, 23)}Z` : utc;
}

/** Cuts a time that {@link normalizeTimestamp} returned to milliseconds. */
export function toMilliseconds(utc: string): string {
  return `${utc.slice(0, 23)}Z`;
}

/** Returns a time for readers, in UTC without fractions of its second, and any other text as it is. */
export function toSeconds(time: string): string {
  return time.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z?$/, '$1Z');
}

/** Returns a time in UTC without its zone, as the public service writes some of its times. */
export function withoutZone(utc: string): string {
  return utc.endsWith('Z') ? utc.slice(0, -1) : utc;
}

/** Returns the milliseconds since 1970 of a time; the public service sends times in UTC without saying so. */
export function millisecondsOf(time: string): number {
  return Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(time) ? time : `${time}Z`);
}

/** Returns the microseconds since 1970 of a time that {@link normalizeTimestamp} returned. */
export function microsecondsOf(utc: string): number {
  return Date.parse(`${utc.slice(0, 23)}Z`) * 1000 + Number(utc.slice(23, 26));
}

/** Returns the time of microseconds since 1970, in the form of {@link normalizeTimestamp}. */
export function timestampOf(microseconds: number): string {
  const milliseconds = Math.floor(microseconds / 1000);
  const rest = String(microseconds - milliseconds * 1000).padStart(3, '0');
  return `${new Date(milliseconds).toISOString().slice(0, -1)}${rest}Z`;
}
