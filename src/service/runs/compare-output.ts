import { distance } from 'fastest-levenshtein';
import type { ComparisonScorer } from '../../contract/scorers.ts';
import { canonicalJson } from '../../core/json/canonical-json.ts';
import { parseFencedJson } from '../../core/json/fenced-json.ts';
import { type Members, objectOrEmpty } from '../../core/json/json-object.ts';
import { fitsSchema } from '../../core/json/json-schema.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { JsonLimitError, parseJsonText } from '../../core/json/parse-json.ts';
import { compileLinearPattern } from '../../core/linear-pattern.ts';

/** Explains why a scorer has no score for an output. */
export class NoScore extends Error {}

/** What a prediction took, as far as it is known. */
export interface PredictionFacts {
  latencySeconds?: number | undefined;
  costUsd?: number | undefined;
}

export interface ComparedOutput {
  row: Members;
  output: unknown;
  facts: PredictionFacts;
}

/** Longest text whose distance from another is computed, and longest JSON that is compared with a schema, in characters. */
const maxDistanceChars = 20_000;
const maxSchemaChars = 1024 * 1024;
/** Tool calls of an output that are looked at. */
const maxToolCalls = 200;

const numberPattern = /^[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})(e[+-]?\d{1,3})?$/i;

/**
 * Returns whether an output passes a scorer that asks nobody, before the result is negated.
 * @throws NoScore when the row or the facts lack what it is compared with.
 */
export function compareOutput(scorer: ComparisonScorer, { output, row, facts }: ComparedOutput): boolean {
  switch (scorer.kind) {
    case 'equals':
      return textOf(output, scorer) === textOf(expectedOf(scorer.expected, row), scorer);
    case 'contains':
      return textOf(output, scorer).includes(textOf(expectedOf(scorer.expected, row), scorer));
    case 'matches':
      return patternOf(scorer)(textOf(output, { ignore_case: false }));
    case 'number_within': {
      const expected = numberOf(expectedOf(scorer.expected, row));
      if (expected === undefined) throw new NoScore(`The column ${scorer.expected} of the row is no number.`);
      const found = numberOf(output);
      return found !== undefined && Math.abs(found - expected) <= scorer.tolerance;
    }
    case 'text_within': {
      const texts = [textOf(output, scorer), textOf(expectedOf(scorer.expected, row), scorer)] as const;
      if (texts.some(({ length }) => length > maxDistanceChars)) {
        throw new NoScore(`Texts of more than ${maxDistanceChars} characters are not compared.`);
      }
      return distance(...texts) <= scorer.tolerance;
    }
    case 'json_valid':
      return typeof output !== 'string' || isJson(output);
    case 'json_schema':
      return fitsJsonSchema(scorer.schema, output);
    case 'tool_calls':
      return hasToolCalls(scorer, toolCallsIn(output));
    case 'latency_within':
      return factOf(facts.latencySeconds, 'The latency of the prediction is unknown.') <= scorer.limit;
    case 'cost_within':
      return (
        factOf(facts.costUsd, 'The cost of the prediction is unknown: no price of its model is stored.') <= scorer.limit
      );
  }
}

function factOf(value: number | undefined, reason: string): number {
  if (value === undefined) throw new NoScore(reason);
  return value;
}

type PatternScorer = ComparisonScorer & { kind: 'matches' };
const patterns = new WeakMap<PatternScorer, (text: string) => boolean>();

/** Compiles the pattern of a scorer once. */
function patternOf(scorer: PatternScorer): (text: string) => boolean {
  const compiled =
    patterns.get(scorer) ?? compileLinearPattern(scorer.pattern, { ignoreCase: scorer.ignore_case === true });
  patterns.set(scorer, compiled);
  return compiled;
}

/** Returns the value of a column of a row. @throws NoScore when the row has none. */
export function expectedOf(column: string, row: Members): unknown {
  if (!Object.hasOwn(row, column)) throw new NoScore(`The row has no column ${column}.`);
  return ownMember(row, column);
}

function textOf(value: unknown, { ignore_case }: { ignore_case?: boolean | null | undefined }): string {
  const text = (typeof value === 'string' ? value : canonicalJson(value ?? null)).trim();
  return ignore_case ? text.toLowerCase() : text;
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const text = typeof value === 'string' ? value.trim() : '';
  return numberPattern.test(text) ? Number(text) : undefined;
}

function isJson(text: string): boolean {
  try {
    parseJsonText(text);
    return true;
  } catch (error) {
    if (error instanceof JsonLimitError) throw new NoScore(`The output is ${error.message}.`);
    return false;
  }
}

function fitsJsonSchema(schema: Members, output: unknown): boolean {
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? null);
  if (text.length > maxSchemaChars) throw new NoScore('An output of more than 1 MiB is not compared with a schema.');
  if (typeof output !== 'string') return fitsSchema(schema, output ?? null);
  const parsed = parseFencedJson(output);
  return parsed !== undefined && fitsSchema(schema, parsed.value);
}

interface ToolCall {
  name: unknown;
  arguments: unknown;
}

/** Returns the tool calls of an output: a message or completion of OpenAI, or content of Anthropic. */
function toolCallsIn(output: unknown): ToolCall[] {
  const value = objectOrEmpty(typeof output === 'string' ? parseFencedJson(output)?.value : output);
  const [choice] = Array.isArray(value.choices) ? value.choices : [];
  const message = objectOrEmpty(objectOrEmpty(choice).message ?? value.message ?? value);
  const { tool_calls, content } = message;
  const ofOpenAi = (Array.isArray(tool_calls) ? tool_calls : []).map((call) => {
    const called = objectOrEmpty(objectOrEmpty(call).function ?? call);
    return { name: called.name, arguments: parsedArguments(called.arguments ?? called.args) };
  });
  const ofAnthropic = (Array.isArray(content) ? content : [])
    .map(objectOrEmpty)
    .flatMap(({ type, name, input }) => (type === 'tool_use' ? [{ name, arguments: input }] : []));
  return [...ofOpenAi, ...ofAnthropic].slice(0, maxToolCalls);
}

function parsedArguments(text: unknown): unknown {
  return typeof text === 'string' ? parseFencedJson(text)?.value : text;
}

function hasToolCalls(
  { calls, ordered, exact }: ComparisonScorer & { kind: 'tool_calls' },
  found: readonly ToolCall[],
): boolean {
  if (exact && found.length !== calls.length) return false;
  const fits = (at: number, { name, arguments: given }: ToolCall): boolean => {
    const wanted = calls[at]!;
    return wanted.name === name && (wanted.arguments == null || fitsSchema(wanted.arguments, given ?? {}));
  };
  if (ordered) {
    let next = 0;
    for (const call of found) if (next < calls.length && fits(next, call)) next += 1;
    return next === calls.length;
  }
  // Each expected call gets one of its own; one that is taken is left to it if its holder can take another.
  const holders = new Map<number, number>();
  const assign = (at: number, tried: Set<number>): boolean =>
    found.some((call, index) => {
      if (tried.has(index) || !fits(at, call)) return false;
      tried.add(index);
      const holder = holders.get(index);
      if (holder !== undefined && !assign(holder, tried)) return false;
      holders.set(index, at);
      return true;
    });
  return calls.every((_, at) => assign(at, new Set()));
}
