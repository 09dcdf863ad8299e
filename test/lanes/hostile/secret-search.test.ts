import { describe, expect, it } from 'vitest';
import { scanJson } from '../../../src/core/json/parse-json.ts';
import { Redactor } from '../../../src/core/secrets/redaction.ts';
import { tally } from '../../support/tally.ts';

const secrets = [
  'bench-password',
  'tok"en\\quoted 1',
  'pä$$wörd/é',
  "a'b c+d%e&f",
  '\\\\double',
  'line\nbreak\tkey',
  '🔑emoji-key',
  'sk-ABCdef0123456789',
  '<b>"&"</b>',
];
const casesPerSeed = 30_000;

/** Returns a source of whole numbers below a limit, the same for the same seed. */
function randomFrom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * limit);
  };
}

type Random = ReturnType<typeof randomFrom>;

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0');
const units = (character: string): string[] =>
  Array.from(character, (_, index) => index)
    .concat(character.length > 1 ? [1] : [])
    .map((index) => hex(character.charCodeAt(index), 4));
const bytes = (character: string, sign: string): string =>
  [...Buffer.from(character)].map((byte) => sign + hex(byte, 2)).join('');

/** Writes one character in one of the encodings in which secrets are found, mostly as it is. */
function encoded(character: string, random: Random): string {
  const code = character.codePointAt(0)!;
  const ways = [
    () => bytes(character, '%'),
    () => bytes(character, '%25').toUpperCase(),
    () => `&#${code};`,
    () => `&#x${code.toString(16)};`,
    () => ({ '"': '&quot;', '&': '&amp;', '<': '&lt;', '>': '&gt;', "'": '&apos;' })[character] ?? character,
    () => bytes(character, '\\x'),
    () =>
      units(character)
        .map((unit) => `\\u${unit}`)
        .join(''),
    () =>
      '\\'.repeat(1 + random(3)) +
      units(character)
        .map((unit) => `u${unit.toUpperCase()}`)
        .join('\\'),
    () => JSON.stringify(character).slice(1, -1),
  ];
  return (ways[random(18)] ?? (() => character))();
}

/** Writes a secret whole, in Base64, in hexadecimal digits, which nothing finds, or each character in an encoding of its own. */
function written(secret: string, random: Random): string {
  const form = random(10);
  if (form === 0) return Buffer.from(secret).toString('base64');
  if (form === 1) return Buffer.from(`x${secret}y`).toString('base64url');
  if (form === 2) return Buffer.from(secret).toString('hex').toUpperCase();
  if (form < 5) return secret;
  return Array.from(secret, (character) => encoded(character, random)).join('');
}

/** The ways in which programs write the strings of JSON. */
const stringWriters: ((text: string, random: Random) => string)[] = [
  (text) => JSON.stringify(text),
  (text) => JSON.stringify(text).replaceAll('/', '\\/'),
  (text) => JSON.stringify(text).replace(/[^\0-\x7f]/g, escapedUnit),
  (text) => JSON.stringify(text).replace(/[<>&']/g, escapedUnit),
  (text, random) => {
    const parts = text.split('').map((unit) => (random(12) ? JSON.stringify(unit).slice(1, -1) : escapedUnit(unit)));
    return `"${parts.join('')}"`;
  },
];

function escapedUnit(unit: string): string {
  return `\\u${hex(unit.charCodeAt(0), 4)}`;
}

/** Writes a value as JSON. */
function jsonOf(value: unknown, writeString: (text: string) => string): string {
  if (typeof value === 'string') return writeString(value);
  if (Array.isArray(value)) return `[${value.map((part) => jsonOf(part, writeString)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, part]) => `${writeString(name)}: ${jsonOf(part, writeString)}`);
  return `{${members.join(', ')}}`;
}

describe('SecretSearch', () => {
  it.each([1, 2, 3])('finds every secret that is found in the value, in any JSON of it (seed %i)', (seed) => {
    const random = randomFrom(seed);
    const redactor = new Redactor();
    redactor.protect(...secrets);
    const missed: string[] = [];
    let found = 0;
    let cleanOnes = 0;
    for (let index = 0; index < casesPerSeed; index += 1) {
      let text = written(secrets[random(secrets.length)]!, random);
      for (let depth = random(5); depth > 0; depth -= 1) {
        text = JSON.stringify({ a: `p${text}` }).slice(0, random(40) === 0 ? -3 : undefined);
      }
      const value = random(2)
        ? { a: [1, { [`k${text}`]: 'x' }], b: 'y' }
        : { a: `pre ${text} post`, n: null, l: [text, -1.5e-7] };
      const writer = stringWriters[random(stringWriters.length)]!;
      const json = jsonOf(value, (part) => writer(part, random));
      const parsed: unknown = JSON.parse(json);
      const search = redactor.search();
      scanJson(json, search);
      const isFound = redactor.redactValue(parsed) !== parsed;
      if (isFound) found += 1;
      if (search.isClean) cleanOnes += 1;
      if (isFound && search.isClean) missed.push(json);
    }
    tally('property runs', casesPerSeed);
    expect(missed.slice(0, 5)).toEqual([]);
    expect(found).toBeGreaterThan(15_000);
    expect(cleanOnes).toBeGreaterThan(1_000);
  });
});
