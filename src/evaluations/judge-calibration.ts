import { createHash } from 'node:crypto';
import * as z from 'zod';
import { isJsonObject } from '../core/json/json-object.ts';
import { ownMember } from '../core/json/member-at.ts';
import { agreementFigures, weightedFigures } from '../core/statistics/agreement.ts';
import { type JudgeErrors, meanDifference, wilsonInterval } from '../core/statistics/intervals.ts';
import type { ClassPair } from '../core/statistics/kappa.ts';
import { rounded } from '../core/statistics/rounded.ts';
import { classOf } from './agreement-with-column.ts';
import { intervalBounds, roundedInterval } from './score-figures.ts';

/** Maximum number of values that have figures of their own. */
const maxValues = 10;
/** Calls of each half, below which lengths are not compared. */
const minHalf = 5;

/** A share of some cases, with its 95 % interval. */
const measuredShare = z.object({ rate: z.number(), n: z.int(), interval: intervalBounds });
export type MeasuredShare = z.output<typeof measuredShare>;

/** Of the calls to which people gave a value, the share to which the judge gave it too. */
const shareOfValue = measuredShare.extend({ value: z.boolean().optional() });

/** How well a judge agrees with people. */
export const calibrationFigures = z.object({
  n: z.int().describe('Calls that people and the judge judged.'),
  percent: z.number().describe('Of these, those with the same value.'),
  kappa: z.number().optional(),
  kappa_interval: intervalBounds.optional().describe('95 %.'),
  no_kappa: z.string().optional().describe('Why kappa is undefined.'),
  quadratic_weighted_kappa: z.number().optional().describe('Only for numbers.'),
  quadratic_weighted_kappa_interval: intervalBounds.optional(),
  sensitivity: shareOfValue.optional().describe('Of what people say is true, the share of which the judge says so.'),
  specificity: shareOfValue.optional().describe('Of what people say is false, the share of which the judge says so.'),
  by_value: z
    .array(measuredShare.extend({ value: z.string() }))
    .optional()
    .describe('For other values than true and false: of those that people gave it, the share that the judge did.'),
  classes: z.array(z.string()),
  confusion: z.array(z.array(z.int())).describe('Row: value of people. Column: value of the judge.'),
  other_classes: z.int().optional(),
  longer_outputs: z
    .object({ difference: z.number(), interval: intervalBounds, n: z.int() })
    .optional()
    .describe('By how much more the judge exceeds people on the longer half of the outputs than on the shorter.'),
  first_answer: measuredShare
    .optional()
    .describe('Of the answers that a pairwise judge saw first, the share that it preferred, ties left out.'),
  same_in_both_orders: measuredShare.optional().describe('Of a pairwise judge that was asked in both orders.'),
});
export type CalibrationFigures = z.output<typeof calibrationFigures>;

/** The values that people and a judge gave a recorded call. */
export interface JudgedCall {
  call_id: string;
  /** The value of people. */
  expected: unknown;
  /** The output of the scorer. */
  given: unknown;
}

/**
 * Returns whether a call belongs to the held-out part, on which a judge is measured. That follows from the seed and the id of
 * the call alone, so a call stays in its part when more are judged.
 * @param share share of all calls that are held out, from 0 to 1.
 */
export function isHeldOut(callId: string, { share, seed }: { share: number; seed: number }): boolean {
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, callId]))
    .digest();
  return digest.readUInt32BE() / 2 ** 32 < share;
}

/**
 * Returns the value that a scorer gave: the output, or its member `passed` or `score`. 1 and 0 are true and false where people
 * answer with yes or no.
 */
export function verdictOf({ expected, given }: Pick<JudgedCall, 'expected' | 'given'>): unknown {
  const value = isJsonObject(given) ? (given.passed ?? given.score) : given;
  return typeof expected === 'boolean' && (value === 0 || value === 1) ? value === 1 : value;
}

/**
 * Returns the output of a scorer with its verdict on a field as the member `passed`: that is the member with the name of the field, or
 * `passed` or `score`, or else the only one beside `reasoning`.
 */
export function withVerdict(output: unknown, field: string): unknown {
  if (!isJsonObject(output)) return output;
  const { reasoning: _reasoning, ...others } = output;
  const [only, ...more] = Object.values(others);
  const passed = ownMember(output, field) ?? output.passed ?? output.score ?? (more.length === 0 ? only : undefined);
  return passed === undefined ? output : { ...output, passed };
}

/**
 * Measures a judge against people.
 * @param calls calls with a value of both; at least one.
 * @param lengths characters of the outputs by the ids of the calls, as far as they are known.
 */
export function measureJudge(
  calls: readonly JudgedCall[],
  lengths: ReadonlyMap<string, number> = new Map(),
): CalibrationFigures {
  const pairs = calls.map((call): ClassPair => [classOf(call.expected) ?? '', classOf(verdictOf(call)) ?? '']);
  const figures = agreementFigures(pairs, maxValues, `all ${pairs.length} values are the same one`);
  const numbers = calls.flatMap((call) => {
    const [expected, given] = [call.expected, verdictOf(call)];
    return typeof expected === 'number' && typeof given === 'number' ? [[expected, given] as const] : [];
  });
  const weighted = numbers.length === calls.length ? weightedFigures(numbers) : {};
  const longer_outputs = biasByLength(calls, lengths);
  return {
    n: calls.length,
    ...figures,
    ...weighted,
    ...sharesOfValues(calls, pairs),
    ...(longer_outputs && { longer_outputs }),
    ...biasByOrder(calls),
  };
}

/** Returns whether the agreement of a judge with people could be chance: the interval of kappa does not lie above 0. */
export function couldBeChance(figures: CalibrationFigures): boolean {
  const { interval } = shownKappa(figures);
  return interval !== undefined && interval[0] <= 0;
}

/** Returns the kappa of a judge that counts, with its interval: the weighted one where there is one. */
export function shownKappa({ kappa, kappa_interval, ...weighted }: CalibrationFigures) {
  const { quadratic_weighted_kappa, quadratic_weighted_kappa_interval } = weighted;
  if (quadratic_weighted_kappa === undefined) return { kind: 'κ', kappa, interval: kappa_interval };
  return { kind: 'quadratic-weighted κ', kappa: quadratic_weighted_kappa, interval: quadratic_weighted_kappa_interval };
}

/** Returns the errors of a judge of yes and no, by which a rate can be corrected; undefined for any other judge. */
export function judgeErrorsOf({ sensitivity, specificity }: CalibrationFigures): JudgeErrors | undefined {
  return (
    sensitivity &&
    specificity && {
      sensitivity: sensitivity.rate,
      positives: sensitivity.n,
      specificity: specificity.rate,
      negatives: specificity.n,
    }
  );
}

/** Returns for each value of people how often the judge gave it too; true and false have names of their own. */
function sharesOfValues(
  calls: readonly JudgedCall[],
  pairs: readonly ClassPair[],
): Pick<CalibrationFigures, 'sensitivity' | 'specificity' | 'by_value'> {
  const shareOfClass = (name: string): MeasuredShare | undefined =>
    shareOf(pairs.filter(([expected]) => expected === name).map(([expected, given]) => expected === given));
  if (calls.every(({ expected }) => typeof expected === 'boolean')) {
    const [sensitivity, specificity] = [shareOfClass('true'), shareOfClass('false')];
    return {
      ...(sensitivity && { sensitivity: { value: true, ...sensitivity } }),
      ...(specificity && { specificity: { value: false, ...specificity } }),
    };
  }
  const names = [...new Set(pairs.map(([expected]) => expected))];
  if (names.length > maxValues) return {};
  return { by_value: names.sort().flatMap((value) => ({ value, ...shareOfClass(value)! })) };
}

function shareOf(outcomes: readonly boolean[]): MeasuredShare | undefined {
  const n = outcomes.length;
  if (n === 0) return undefined;
  const rate = outcomes.filter(Boolean).length / n;
  return { rate: rounded(rate, 6), n, interval: roundedInterval(wilsonInterval(rate, n)) };
}

/** Compares by how much the judge exceeds people on the longer and on the shorter half of the outputs. */
function biasByLength(
  calls: readonly JudgedCall[],
  lengths: ReadonlyMap<string, number>,
): CalibrationFigures['longer_outputs'] {
  const measured = calls.flatMap((call) => {
    const [length, given, expected] = [lengths.get(call.call_id), verdictOf(call), call.expected];
    const isMeasured =
      length !== undefined && [given, expected].every((value) => ['number', 'boolean'].includes(typeof value));
    return isMeasured ? [{ length, excess: Number(given) - Number(expected) }] : [];
  });
  measured.sort((a, b) => a.length - b.length);
  const half = Math.floor(measured.length / 2);
  if (half < minHalf || measured[half - 1]!.length === measured.at(-half)!.length) return undefined;
  const excessOf = (part: typeof measured): number[] => part.map(({ excess }) => excess);
  const { difference, interval } = meanDifference(excessOf(measured.slice(-half)), excessOf(measured.slice(0, half)));
  return { difference: rounded(difference, 4), interval: roundedInterval(interval), n: 2 * half };
}

/** Returns what a pairwise judge tells about the order of the answers. */
function biasByOrder(calls: readonly JudgedCall[]): Pick<CalibrationFigures, 'first_answer' | 'same_in_both_orders'> {
  const outputs = calls.map(({ given }) => (isJsonObject(given) ? given : {}));
  const first = outputs.flatMap(({ score, output_was }) =>
    (score === 0 || score === 1) && typeof output_was === 'string' ? [(score === 1) === (output_was === 'first')] : [],
  );
  const same = outputs.flatMap(({ same_in_both_orders: isSame }) => (typeof isSame === 'boolean' ? [isSame] : []));
  const [first_answer, same_in_both_orders] = [shareOf(first), shareOf(same)];
  return { ...(first_answer && { first_answer }), ...(same_in_both_orders && { same_in_both_orders }) };
}

/** A call on which a judge and people differ. */
export const judgeDispute = z.object({
  call_id: z.string(),
  people: z.unknown(),
  judge: z.unknown(),
  reasoning: z.string().optional().describe('Of the judge.'),
});
export type JudgeDispute = z.output<typeof judgeDispute>;

/**
 * Returns the calls on which a judge and people differ, the worst first: the greatest distance of numbers, then the clearest
 * verdict of people.
 * @param support number of people who gave the value, by the ids of the calls.
 */
export function disputedCalls(
  calls: readonly JudgedCall[],
  support: ReadonlyMap<string, number>,
): readonly (JudgedCall & { verdict: unknown })[] {
  const distanceOf = (call: JudgedCall): number => {
    const [given, expected] = [verdictOf(call), call.expected];
    return typeof given === 'number' && typeof expected === 'number' ? Math.abs(given - expected) : 1;
  };
  return calls
    .filter((call) => classOf(verdictOf(call)) !== classOf(call.expected))
    .sort(
      (a, b) =>
        distanceOf(b) - distanceOf(a) ||
        (support.get(b.call_id) ?? 0) - (support.get(a.call_id) ?? 0) ||
        (a.call_id < b.call_id ? -1 : 1),
    )
    .map((call) => ({ ...call, verdict: verdictOf(call) }));
}
