/** Returns the value at a share (0–1) of the sorted numbers. */
export function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(share * (sorted.length - 1))];
}

export const median = (numbers) => quantile(numbers, 0.5);

/** Returns the median of the ratios of measurements from the same round. */
export function medianRatio(above, below) {
  return median(above.map((value, round) => value / below[round]));
}

/** Rotates the list each round, so no subject always follows the same other. */
export function rotated(list, round) {
  const at = round % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}

/** Formats a number with three significant digits. */
export function shown(value, unit = '') {
  if (value === undefined || Number.isNaN(value)) return '–';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${unit}`;
}

/** Renders a Markdown table. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}
