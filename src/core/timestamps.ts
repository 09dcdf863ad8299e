const pattern =
  /^(\d{4}-\d\d-\d\d)[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)?(?:[Zz]|([+-](?:[01]\d|2[0-3]))(?::?([0-5]\d))?)?$/;

/** The form of most times, of days that every month has. */
const utcPattern = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/**
 * Converts an ISO 8601 date and time to UTC with milliseconds, cutting off finer fractions. A time without a zone is UTC.
 * Returns undefined for any other text and for dates that do not exist.
 */
export function normalizeTimestamp(text: string): string | undefined {
  if (utcPattern.test(text)) return text;
  // Date moves 30 February to March, so that it is not the same any more.
  if (text.length === 24 && new Date(text).toJSON() === text) return text;
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, date, minutes, seconds = '00', fraction = '', zoneHours = '+00', zoneMinutes = '00'] = match;
  // Date accepts 30 February and moves it to March.
  if (!new Date(date!).toJSON()?.startsWith(date!)) return undefined;
  const milliseconds = fraction.slice(0, 3).padEnd(3, '0');
  const utc = new Date(`${date}T${minutes}:${seconds}.${milliseconds}${zoneHours}:${zoneMinutes}`).toJSON();
  // A year before 0 or after 9999 makes the text longer, which would break its order.
  return utc?.length === 24 ? utc : undefined;
}
