/** Rounds a number to at most `digits` digits after the decimal point. */
export function rounded(number: number, digits: number): number {
  return Number(number.toFixed(digits));
}
