import { parse } from 'yaml';
import { undefinedOnError } from '../../../../core/errors.ts';
import { canonicalJson } from '../../../../core/json/canonical-json.ts';
import { isJsonObject, type Members, objectOrEmpty } from '../../../../core/json/json-object.ts';
import { compileLinearPattern } from '../../../../core/linear-pattern.ts';
import { readNamedText, readYamlFile } from '../yaml-file.ts';
import { fileNamed, fillTemplate, type ImportNote } from './read-template.ts';

export interface PlacedAssertion {
  assertion: Members;
  placeOf: (path: readonly PropertyKey[]) => { file: string; line: number };
}

/** The assertions on one row. */
export interface AssertionParts {
  assertions: readonly PlacedAssertion[];
  /** Share of the weights that must pass, if not all of them. */
  threshold: unknown;
  vars: Members;
  /** Model that judges. */
  judge: string;
}

/** An assertion as a scorer without a name, whose values for the row are columns of it. */
interface Translated {
  /** Assertions of several rows with the same key become one scorer. */
  key: string;
  label: string;
  values: unknown[];
  /** Returns the scorer for the names of the columns. */
  scorerOn: (columns: readonly string[]) => Members;
}

/** Says why an assertion is not taken. */
class NotTaken extends Error {}

interface Access {
  folder: string;
  notes: ImportNote[];
  /** Columns that rows have already. */
  columns: ReadonlySet<string>;
}

/** The same assertion on several rows, such as the first `contains` of each. */
interface Slot {
  label: string;
  scorerOn: Translated['scorerOn'];
  valuesOf: Map<number, unknown[]>;
}

/**
 * Turns assertions into scorers and the columns that these compare with. Assertions of one kind on several rows are one scorer.
 * @returns the scorers, and the columns to add to each row.
 */
export function translateAssertions(
  rows: readonly AssertionParts[],
  access: Access,
): { scorers: Members[]; columns: Members[] } {
  const slots = new Map<string, Slot>();
  for (const [row, parts] of rows.entries()) {
    const counts = new Map<string, number>();
    for (const { key, label, values, scorerOn } of translatedOf(parts, access)) {
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      const name = `${key} ${count}`;
      const slot = slots.get(name) ?? { label, scorerOn, valuesOf: new Map() };
      slot.valuesOf.set(row, values);
      slots.set(name, slot);
    }
  }
  const columns = rows.map(() => new Map<string, unknown>());
  const names = new Set<string>();
  let prefix = 'assert';
  while ([...access.columns].some((column) => column.startsWith(`${prefix}_`))) prefix = `_${prefix}`;
  const scorers = [...slots.values()].map(({ label, scorerOn, valuesOf }, index) => {
    const name = uniqueName(label, names);
    const isOnAll = valuesOf.size === rows.length;
    const own: string[] = [];
    for (const [row, values] of valuesOf) {
      const added = values.length > 0 || isOnAll ? values : [true];
      for (const [at, value] of added.entries()) {
        own[at] = `${prefix}_${index + 1}${added.length > 1 ? `_${at + 1}` : ''}`;
        columns[row]!.set(own[at], value);
      }
    }
    const scorer = scorerOn(own);
    const options = { ...objectOrEmpty(scorer.options), only_if: own[0] };
    return named(isOnAll ? scorer : { ...scorer, options }, name);
  });
  return { scorers, columns: columns.map((added) => Object.fromEntries(added)) };
}

function uniqueName(label: string, names: Set<string>): string {
  const base =
    label
      .replace(/[^\p{L}\p{N}_.-]+/gu, ' ')
      .trim()
      .slice(0, 80) || 'assertion';
  let name = base;
  for (let count = 2; names.has(name.toLowerCase()); count += 1) name = `${base} ${count}`;
  names.add(name.toLowerCase());
  return name;
}

/** Returns a scorer with a name, and names for those that it joins. */
function named(scorer: Members, name: string): Members {
  const { options } = scorer;
  if (!isJsonObject(options) || !Array.isArray(options.scorers)) return { name, ...scorer };
  const scorers = options.scorers.map((part: Members, index) => named(part, `${name} part ${index + 1}`));
  return { name, ...scorer, options: { ...options, scorers } };
}

type PlacedTranslation = Translated & { place: ImportNote };

/** Returns the assertions of a row that can be taken, and notes the others. */
function translatedOf(parts: AssertionParts, access: Access): PlacedTranslation[] {
  const { assertions, threshold } = parts;
  const taken = assertions.flatMap((placed): PlacedTranslation[] => {
    const place = { ...placed.placeOf([]), message: '' };
    try {
      const translated = translate(placed, parts, access);
      const { weight } = placed.assertion;
      if (weight !== undefined && threshold === undefined) {
        access.notes.push({ ...place, message: 'weight is not taken: it matters only beside a threshold' });
      }
      return [{ ...translated, place }];
    } catch (error) {
      if (!(error instanceof NotTaken)) throw error;
      access.notes.push({ ...place, message: `${String(placed.assertion.type)} is not taken: ${error.message}` });
      return [];
    }
  });
  if (threshold === undefined || taken.length === 0) return taken;
  const { place } = taken[0]!;
  if (typeof threshold !== 'number' || taken.length < assertions.length) {
    access.notes.push({
      ...place,
      message: 'the threshold of the test is not taken, because not all of its assertions are',
    });
    return taken;
  }
  const weights = assertions.map(({ assertion }) => weightOf(assertion));
  return [{ ...joined(taken, weights, threshold, 'test'), place }];
}

function weightOf({ weight }: Members): number {
  return typeof weight === 'number' && weight >= 0 ? weight : 1;
}

/** Joins assertions, of which a share of the weights must pass. */
function joined(
  parts: readonly Translated[],
  weights: readonly number[],
  threshold: unknown,
  label: string,
): Translated {
  const isShare = typeof threshold === 'number' && threshold > 0 && threshold <= 1;
  if (threshold !== undefined && !isShare) throw new NotTaken('its threshold is not above 0 and at most 1');
  const options = {
    ...(weights.some((weight) => weight !== 1) && { weights }),
    ...(isShare && { threshold }),
  };
  return {
    key: canonicalJson(['set', parts.map(({ key }) => key), options]),
    label,
    values: parts.flatMap(({ values }) => values),
    scorerOn: (columns) => {
      let at = 0;
      const scorers = parts.map(({ values, scorerOn }) => {
        const own = columns.slice(at, at + values.length);
        at += values.length;
        return scorerOn(own);
      });
      return { kind: 'all_of', options: { scorers, ...options } };
    },
  };
}

const assertionMembers = new Set([
  'type',
  'value',
  'threshold',
  'weight',
  'metric',
  'provider',
  'assert',
  'description',
]);

/** @throws NotTaken for an assertion that heddle cannot make. */
function translate({ assertion, placeOf }: PlacedAssertion, parts: AssertionParts, access: Access): Translated {
  const { type: given, metric } = assertion;
  if (typeof given !== 'string') throw new NotTaken('it has no type');
  const other = Object.keys(assertion).find((member) => !assertionMembers.has(member));
  if (other !== undefined) throw new NotTaken(`${other} has no counterpart`);
  const negate = given.startsWith('not-');
  const type = negate ? given.slice('not-'.length) : given;
  const label = typeof metric === 'string' ? metric : given;
  if (type === 'assert-set') {
    const members = Array.isArray(assertion.assert) ? assertion.assert : [];
    const inner = members.map((member: Members, index) =>
      translate({ assertion: member, placeOf: (path) => placeOf(['assert', index, ...path]) }, parts, access),
    );
    if (inner.length === 0) throw new NotTaken('it has no assertions');
    return joined(inner, members.map(weightOf), assertion.threshold, label);
  }
  const { scorer, values } = scorerOf(type, assertion, parts, access);
  const shape = scorer(values.map((_, index) => `column ${index}`));
  const isJudge = shape.kind === 'llm_judge';
  return {
    key: canonicalJson([negate, metric ?? null, shape]),
    label,
    values,
    scorerOn: (columns) => {
      if (!negate) return scorer(columns);
      // A judge has no negate of its own.
      return isJudge
        ? { kind: 'all_of', options: { scorers: [scorer(columns)] }, negate }
        : { ...scorer(columns), negate };
    },
  };
}

interface ScorerOnColumns {
  scorer: (columns: readonly string[]) => Members;
  values: unknown[];
}

function scorerOf(
  type: string,
  assertion: Members,
  { vars, judge }: AssertionParts,
  { folder }: Access,
): ScorerOnColumns {
  const value = givenValue(assertion.value, vars, folder);
  const ignore_case = type.startsWith('i') && type !== 'is-json';
  const caseless = ignore_case && { ignore_case };
  switch (type) {
    case 'equals':
      // The JSON of an object may be written in many ways.
      if (typeof value === 'object' && value !== null) return schemaScorer({ const: value });
      // A column that holds nothing would say that the scorer does not apply.
      if (value === '') return patternScorer('^\\s*$');
      return { scorer: ([expected]) => ({ kind: 'equals', expected }), values: [String(required(value))] };
    case 'contains':
    case 'icontains':
      return { scorer: ([expected]) => ({ kind: 'contains', expected, ...caseless }), values: [textOf(value)] };
    case 'contains-all':
    case 'contains-any':
    case 'icontains-all':
    case 'icontains-any': {
      const values = textsOf(value);
      const kind = type.endsWith('all') ? 'all_of' : 'any_of';
      const scorer = (columns: readonly string[]) => ({
        kind,
        options: { scorers: columns.map((expected) => ({ kind: 'contains', expected, ...caseless })) },
      });
      return { scorer, values };
    }
    case 'starts-with':
      return patternScorer(`^${textOf(value).replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}`);
    case 'regex':
      return patternScorer(textOf(value));
    case 'is-json': {
      if (value === undefined || value === '') return { scorer: () => ({ kind: 'json_valid' }), values: [] };
      const schema = typeof value === 'string' ? undefinedOnError(() => parse(value)) : value;
      if (!isJsonObject(schema)) throw new NotTaken('its schema is no object');
      return schemaScorer(schema);
    }
    case 'levenshtein': {
      const tolerance = assertion.threshold === undefined ? 5 : limitOf(assertion.threshold);
      return { scorer: ([expected]) => ({ kind: 'text_within', expected, tolerance }), values: [textOf(value)] };
    }
    case 'latency': {
      const limit = limitOf(assertion.threshold) / 1000;
      return { scorer: () => ({ kind: 'latency_within', options: { limit } }), values: [] };
    }
    case 'cost': {
      const limit = limitOf(assertion.threshold);
      return { scorer: () => ({ kind: 'cost_within', options: { limit } }), values: [] };
    }
    case 'llm-rubric': {
      if (assertion.threshold !== undefined) throw new NotTaken('its threshold has no counterpart');
      if (assertion.provider !== undefined) throw new NotTaken('name its model with options.provider of the test');
      const prompt = (column: string) =>
        `Does the output meet the criterion?\n\nCriterion: {${column}}\n\nOutput: {output}`;
      return {
        scorer: ([column]) => ({ kind: 'llm_judge', model: judge, prompt: prompt(column!) }),
        values: [textOf(value)],
      };
    }
    case 'javascript':
    case 'python':
    case 'ruby':
    case 'webhook':
      throw new NotTaken('heddle runs no code of a file; a scorer of the kind endpoint asks a program of yours');
    case 'similar':
      throw new NotTaken('heddle has no embeddings');
    default:
      throw new NotTaken('heddle has no such scorer');
  }
}

function schemaScorer(schema: Members): ScorerOnColumns {
  return { scorer: () => ({ kind: 'json_schema', options: { schema } }), values: [] };
}

function patternScorer(pattern: string): ScorerOnColumns {
  try {
    compileLinearPattern(pattern);
  } catch (error) {
    throw new NotTaken((error as SyntaxError).message);
  }
  return { scorer: () => ({ kind: 'matches', pattern }), values: [] };
}

/** Returns the value of an assertion: the content of the file that it names, with the variables of the row. */
function givenValue(value: unknown, vars: Members, folder: string): unknown {
  if (Array.isArray(value)) return value.map((one) => givenValue(one, vars, folder));
  if (typeof value !== 'string') return value;
  if (value.startsWith('file://')) {
    const file = fileNamed(value, folder);
    if (file !== undefined && /\.(json|ya?ml)$/i.test(file)) return readYamlFile(file).value;
    if (file !== undefined && /\.(txt|md)$/i.test(file)) return readNamedText(file).trim();
    throw new NotTaken(`${value} is not there, or no text, JSON or YAML`);
  }
  const filled = fillTemplate(value, vars);
  if (filled === undefined) throw new NotTaken('of templates only {{name}} is taken');
  return filled;
}

function required(value: unknown): unknown {
  if (value === undefined) throw new NotTaken('it has no value');
  return value;
}

function textOf(value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  if (typeof value === 'number') return String(value);
  throw new NotTaken('its value is no text');
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string' && value.includes('"')) throw new NotTaken('write its values as a list');
  const values = typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value;
  if (!Array.isArray(values) || values.length === 0 || values.length > 20)
    throw new NotTaken('it needs 1 to 20 values');
  return values.map(textOf);
}

function limitOf(value: unknown): number {
  if (typeof value === 'number' && value > 0) return value;
  throw new NotTaken('it has no threshold above 0');
}
