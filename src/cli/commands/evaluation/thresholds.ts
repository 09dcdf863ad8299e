import { objectIdOf } from '../../../contract/references.ts';
import { plainFormats } from '../../../evaluations/result-words.ts';
import { UsageError } from '../../terminal/report-failure.ts';
import type { Run } from './print-results.ts';

/** The thresholds that a run must reach. */
export interface Thresholds {
  minPassRate?: number;
  minMean?: number;
  /** Whether every judge must be calibrated. */
  requireCalibrated?: boolean;
  /** Scorers that must reach it; all by default. */
  scorers: readonly string[];
}

/**
 * Returns what a run has not reached. A missing score counts as not passed; a scorer that applies to no row counts for nothing.
 * @throws UsageError for a threshold that no scorer can reach or miss.
 */
export function missedThresholds({ scorers, predictions }: Run, thresholds: Thresholds): string[] {
  const { percent } = plainFormats;
  const { minPassRate, minMean, requireCalibrated = false, scorers: names } = thresholds;
  const unknown = names.find((name) => !scorers.some(({ scorer }) => isScorer(scorer, name)));
  if (unknown !== undefined) {
    throw new UsageError(
      `no scorer ${unknown}; scorers of the run: ${scorers.map(({ scorer }) => scorer).join(', ') || 'none'}`,
    );
  }
  const chosen = scorers.filter(({ scorer }) => names.length === 0 || names.some((name) => isScorer(scorer, name)));
  // A scorer that always failed has neither figure, and must not pass.
  const judged = chosen.filter(({ n, errors }) => n === 0 && errors !== undefined);
  const passing = chosen.filter(({ pass_rate }) => pass_rate !== undefined);
  const measured = chosen.filter(({ mean }) => mean !== undefined);
  if (minPassRate !== undefined && passing.length + judged.length === 0 && predictions > 0) {
    throw new UsageError('--min-pass-rate: no scorer of the run passes or fails');
  }
  if (minMean !== undefined && measured.length + judged.length === 0 && predictions > 0) {
    throw new UsageError('--min-mean: no scorer of the run gives numbers');
  }
  const uncalibrated = requireCalibrated ? chosen.filter(({ calibrated }) => calibrated === false) : [];
  const missed = uncalibrated.map(({ scorer, judge }) => `the judge of ${scorer} is ${judge}`);
  if (minPassRate === undefined && minMean === undefined) return missed;
  missed.push(...judged.map(({ scorer }) => `${scorer} has no score`));
  if (predictions === 0) missed.push('the run has no predictions');
  if (minPassRate !== undefined) {
    for (const { scorer, pass_rate = 0, n, errors = 0 } of passing) {
      const rate = (pass_rate * n) / (n + errors);
      // The rate has four digits.
      if (rate < minPassRate - 0.00005)
        missed.push(`${scorer} passes ${percent(rate)}, less than ${percent(minPassRate)}`);
    }
  }
  if (minMean !== undefined) {
    for (const { scorer, mean = 0, errors = 0 } of measured) {
      if (mean < minMean - 0.00005) missed.push(`${scorer} has a mean of ${mean}, less than ${minMean}`);
      if (errors > 0) missed.push(`${scorer} lacks ${errors} scores`);
    }
  }
  return missed;
}

/** Returns whether a scorer of a run, with the path of a member, has a name as people write it. */
function isScorer(scorer: string, name: string): boolean {
  return objectIdOf(scorer) === objectIdOf(name);
}
