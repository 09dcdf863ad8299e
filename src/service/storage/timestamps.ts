const pattern =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?$/;

/**
 * Reads an ISO 8601 date and time in any zone (none means UTC) as UTC text with milliseconds; finer parts are cut off.
 * Returns undefined for anything else, also for a date that no calendar has.
 */
export function normalizeTimestamp(text: string): string | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as Six;
  const milliseconds = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'));
  const zone = (match[8] === '-' ? -1 : 1) * (Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0));
  if (hour > 23 || minute > 59 || second > 59 || Number(match[9] ?? 0) > 23 || Number(match[10] ?? 0) > 59) {
    return undefined;
  }
  // Date.UTC takes years below 100 for 19xx.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  date.setUTCHours(hour, minute - zone, second, milliseconds);
  const utc = date.toISOString();
  return utc.length === 24 ? utc : undefined;
}

type Six = [number, number, number, number, number, number];
