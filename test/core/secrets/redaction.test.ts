import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeddleError } from '../../../src/core/errors.ts';
import { Redactor } from '../../../src/core/secrets/redaction.ts';
import { caseCount } from '../../support/cases.ts';
import { tally } from '../../support/tally.ts';

const secret = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 8, maxLength: 60 }),
    fc.string({ unit: fc.constantFrom(...`"'\\/%+&<>=é😀 aZ9-_`), minLength: 8, maxLength: 40 }),
  )
  .filter((text) => text.trim().length >= 8);
const around = fc.string({ maxLength: 12 });

/** Encodings in which a service, a proxy or a library may echo a secret. */
const writings: Record<string, (text: string) => string> = {
  plain: (text) => text,
  uri: (text) => encodeURIComponent(text),
  form: (text) => new URLSearchParams({ v: text }).toString().slice(2),
  json: (text) => JSON.stringify(text),
  'json in json': (text) => JSON.stringify(JSON.stringify(text)),
  'ascii json': (text) =>
    JSON.stringify(text).replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  base64: (text) => Buffer.from(text).toString('base64'),
  'base64 of a pair': (text) => Buffer.from(`mia:${text}`).toString('base64'),
  'base64url in a longer text': (text) => Buffer.from(`ab${text}cd`).toString('base64url'),
  'uri in lower case': (text) => encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase()),
  'uri of every byte': (text) => everyByte(text, (hex) => `%${hex.toUpperCase()}`),
  'uri in uri': (text) => encodeURIComponent(encodeURIComponent(text)),
  'json in json in json': (text) => JSON.stringify(JSON.stringify(JSON.stringify(text))),
  'ascii json in upper case': (text) => escapeUnits(JSON.stringify(text), (unit) => unit.toUpperCase()),
  'ascii json in json': (text) => JSON.stringify(escapeUnits(JSON.stringify(text), (unit) => unit)),
  'json of every character': (text) =>
    text.replace(/./gs, (unit) => (unit === '\\' ? '\\\\' : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)),
  'json with escaped slashes': (text) => JSON.stringify(text).replaceAll('/', '\\/'),
  'json for a page': (text) => JSON.stringify(text).replace(/[<>&']/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
  python: (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`,
  'python bytes': (text) => everyByte(text, (hex) => (/^[2-7]/.test(hex) ? undefined : `\\x${hex}`)),
  'python in json': (text) => JSON.stringify(`'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`),
  html: (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`),
  'named entities': (text) =>
    text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c] ?? '&quot;'),
};

/** Writes each byte of the UTF-8 text; as it is where `write` returns undefined. */
function everyByte(text: string, write: (hex: string) => string | undefined): string {
  const bytes = [...Buffer.from(text)];
  return bytes
    .map((byte) => {
      const written = write(byte.toString(16).padStart(2, '0'));
      if (written !== undefined) return written;
      return byte === 0x5c ? '\\\\' : byte === 0x7f ? '\\x7f' : String.fromCharCode(byte);
    })
    .join('');
}

function escapeUnits(text: string, write: (hex: string) => string): string {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${write(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`);
}

describe('Redactor.redact', () => {
  it.each([
    ['Authorization: Basic bWlhOnNlY3JldA==', 'Authorization: [secret]'],
    ['{"authorization":"Bearer abc123def456"}', '{"authorization":"[secret]"}'],
    ['{\\"Set-Cookie\\":\\"sid=1; Path=/\\"}', '{\\"Set-Cookie\\":\\"[secret]\\"}'],
    ['x-api-key: 9f8e7d6c\nnext line', 'x-api-key: [secret]\nnext line'],
    ['sent Bearer eyJhbGciOi.J9 twice', 'sent Bearer [secret] twice'],
    ['got eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.MEUCIQ-_x, gave it up', 'got [secret], gave it up'],
    ['postgres://app:hunter2@db.example/x', 'postgres://[secret]@db.example/x'],
    ['https://token@host.example/path', 'https://[secret]@host.example/path'],
    ['OPENAI_API_KEY=sk-123 failed', 'OPENAI_API_KEY=[secret] failed'],
    ['{"DB_PASSWORD":"x1"}', '{"DB_PASSWORD":"[secret]"}'],
  ])('replaces what looks like a secret in: %s', (text, clean) => {
    expect(new Redactor().redact(text)).toBe(clean);
  });

  it.each([
    'The service rejected the credentials (Basic), status 401.',
    'No bearer token: Bearer authentication is needed.',
    'Set HEDDLE_USERNAME and HEDDLE_PASSWORD for this server.',
    'weave:///team/app/object/prompt:latest and mail to a@b.example',
  ])('keeps prose: %s', (text) => {
    expect(new Redactor().redact(text)).toBe(text);
  });

  it('replaces environment values with secret-looking names, and passwords in URLs', () => {
    const redactor = new Redactor();
    redactor.protectEnvironment({
      ACME_TOKEN: 'acme-value-1',
      ssh_key: 'lower-value-2',
      DATABASE_URL: 'postgres://app:db-value-3@host/x',
      PATH: '/usr/bin:/bin',
      KEYBOARD: 'qwertz-layout',
    });
    expect(redactor.redact('acme-value-1 lower-value-2 db-value-3 /usr/bin:/bin qwertz-layout')).toBe(
      '[secret] [secret] [secret] /usr/bin:/bin qwertz-layout',
    );
  });

  it('replaces a registered secret in any encoding', () => {
    const runs = caseCount(5_000);
    fc.assert(
      fc.property(secret, around, around, fc.constantFrom(...Object.keys(writings)), (planted, before, after, way) => {
        const redactor = new Redactor();
        redactor.protect(planted);
        const write = writings[way]!;
        const written = write(planted);
        const clean = redactor.redact(`${before}${written}${after}`);
        expect(clean).toContain('[secret]');
        expect(clean).not.toContain(planted);
        // The outer characters of Base64 also encode neighbours, and short strings may occur by chance.
        const inner = written.slice(4, -4);
        if (inner.length >= 8) expect(clean).not.toContain(inner);
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
  });

  it.each(Object.keys(writings))('leaves nothing of a secret written as: %s', (way) => {
    const planted = `a"b'c\\d/e é😀<&>%+f-0123456789`;
    const redactor = new Redactor();
    redactor.protect(planted);
    const clean = redactor.redact(`before ${writings[way]!(planted)} after`);
    expect(clean).toMatch(/^before .{0,8}\[secret\].{0,8} after$/);
  });

  it('does not look for a secret of fewer than six characters', () => {
    const redactor = new Redactor();
    redactor.protect('short');
    expect(redactor.redact('a short word')).toBe('a short word');
  });

  it.each([
    'x-',
    'a.',
    'eyJ-',
    'a://',
    'A_',
    'TOKEN',
    'cookie',
    'Bearer ',
    '\\',
    '\\"',
    '%',
    '&#',
    ' ',
    'sk-a',
    'sk-abc"def-ghijk',
  ])('takes time that grows linearly with repetitions of %j', (unit) => {
    const redactor = new Redactor();
    redactor.protect('sk-abc"def-ghijkl');
    const text = unit.repeat((1024 * 1024) / unit.length);
    const before = process.cpuUsage();
    expect(redactor.redact(text) === text).toBe(true);
    // Quadratic patterns take minutes for this, of the processor's time as well, which other programs do not use up.
    expect(process.cpuUsage(before).user).toBeLessThan(20_000_000);
  });
});

describe('Redactor.redact', () => {
  it('removes the beginning of a secret before the mark of a cut', () => {
    const redactor = new Redactor();
    redactor.protect('sk-0123456789abcdef');
    expect(redactor.redact('no queue "x sk-012345…[+13 characters]", but "y sk-0123456789abcd…[+4 characters]"')).toBe(
      'no queue "x [secret]…[+13 characters]", but "y [secret]…[+4 characters]"',
    );
    expect(redactor.redact('x sk-…[+13 characters] and more … [+1')).toBe('x sk-…[+13 characters] and more … [+1');
  });
});

describe('Redactor.redactValue', () => {
  it('replaces a registered secret in strings and member names, and keeps other members', () => {
    fc.assert(
      fc.property(secret, fc.jsonValue({ maxDepth: 3 }), around, (planted, other, text) => {
        const redactor = new Redactor();
        redactor.protect(planted);
        const value = { other, [`${text}${planted}`]: [{ deep: `${planted}${text}` }], count: 3 };
        const clean = redactor.redactValue(value);
        expect(JSON.stringify(clean)).not.toContain(JSON.stringify(planted).slice(1, -1));
        expect(clean.count).toBe(3);
      }),
    );
  });

  it('uses the JSON form of an object with toJSON when it replaces a secret', () => {
    const redactor = new Redactor();
    redactor.protect('hunter2-hunter2');
    const call_error = new HeddleError({
      code: 'not_found',
      message: 'There is no call hunter2-hunter2.',
      hint: 'Look.',
    });
    const clean = JSON.parse(JSON.stringify(redactor.redactValue({ items: [{ call_error }], toJSON: 'a word' })));
    expect(clean.items[0].call_error).toMatchObject({ code: 'not_found', message: 'There is no call [secret].' });
    expect(clean.toJSON).toBe('a word');
  });

  it('returns the same value if it contains no registered secret', () => {
    const value = { url: 'postgres://app:somebody@host', header: 'Authorization: Basic bWlhOnNlY3JldA==' };
    expect(new Redactor().redactValue(value)).toBe(value);
  });
});

describe('Redactor.isClean', () => {
  it('returns false for the JSON of every value that redactValue changes', () => {
    const runs = caseCount(5_000);
    fc.assert(
      fc.property(secret, around, around, fc.constantFrom(...Object.keys(writings)), (planted, before, after, way) => {
        const redactor = new Redactor();
        redactor.protect(planted);
        const value = { list: [`${before}${writings[way]!(planted)}${after}`], count: 3 };
        fc.pre(redactor.redactValue(value) !== value);
        expect(redactor.isClean(JSON.stringify(value))).toBe(false);
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
  });

  const redactor = new Redactor();
  redactor.protect('tok"en-123456');

  it.each([
    ['without a secret', { id: 'tok-1', text: 'C:\\temp "quoted" é', score: 1.5 }, true],
    ['with a secret as the name of a member', { 'my tok"en-123456': 1 }, false],
    ['with more backslashes than are followed', { text: '\\'.repeat(8) }, false],
    ['without a secret and without escape sequences', { id: 'tok-1', text: 'en-12345, en-123456, token-123456' }, true],
    ['with more beginnings of a secret than are compared', { text: `100 % ${'tok'.repeat(10_001)}` }, false],
  ])('judges JSON %s', (_, value, isClean) => {
    expect(redactor.isClean(JSON.stringify(value))).toBe(isClean);
  });

  it('ends its comparisons in text of which each part could be inside of a secret', () => {
    const repeated = new Redactor();
    repeated.protect('aaaaaaaab');
    expect(repeated.isClean(JSON.stringify('a'.repeat(1_000)))).toBe(true);
    expect(repeated.isClean(JSON.stringify('a'.repeat(10_100)))).toBe(false);
  });

  it('does not judge JSON that writes plain characters as escape sequences', () => {
    expect(redactor.isClean('{"text":"tok\\u0026quot;en-123456"}')).toBe(false);
    expect(redactor.isClean('{"text":"a \\u00e9 is plain, \\u0041 is not"}')).toBe(false);
    expect(redactor.isClean('{"text":"a \\u00e9 is plain"}')).toBe(true);
  });
});

describe('Redactor.redactCut', () => {
  it('removes the beginning of a secret at the end of text that was cut off', async () => {
    const redactor = new Redactor();
    redactor.protect('sk-0123456789abcdef');
    for (let shown = 4; shown < 19; shown += 1) {
      expect(await redactor.redactCut(`so far sk-0123456789abcdef`.slice(0, 7 + shown))).toBe('so far [secret]');
    }
    expect(await redactor.redactCut('so far sk-')).toBe('so far sk-');
    expect(await redactor.redactCut('sk-0123456789abcdef and more')).toBe('[secret] and more');
  });
});

describe('Redactor.redactStream', () => {
  it('finds a secret in any encoding, however the bytes are split, and keeps every other byte', async () => {
    const runs = caseCount(300);
    const ways = fc.constantFrom(...Object.keys(writings));
    const splits = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 });
    const bytes = fc.uint8Array({ maxLength: 20 }).map((list) => list.map((byte) => byte | 0x80));
    const planted = `k"1'/é\\-0123456789`;
    await fc.assert(
      fc.asyncProperty(ways, splits, bytes, async (way, sizes, around) => {
        const redactor = new Redactor();
        redactor.protect(planted, Buffer.from(planted).toString('latin1'));
        const written = Buffer.from(writings[way]!(planted));
        const input = Buffer.concat([around, Buffer.from('\n'), written, Buffer.from('\n'), around]);
        const stream = redactor.redactStream();
        const output = buffer(stream);
        for (let at = 0, turn = 0; at < input.length; turn += 1) {
          const size = sizes[turn % sizes.length]!;
          stream.write(input.subarray(at, at + size));
          at += size;
        }
        stream.end();
        const clean = await output;
        expect(clean.includes('[secret]')).toBe(true);
        expect(clean.includes(written.subarray(4, -4))).toBe(false);
        expect(clean.subarray(0, around.length)).toEqual(Buffer.from(around));
        expect(clean.subarray(clean.length - around.length)).toEqual(Buffer.from(around));
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
  });

  it('holds back only text that can be the beginning of a secret', async () => {
    const redactor = new Redactor();
    redactor.protect('sk-0123456789');
    const stream = redactor.redactStream();
    stream.write('data: 1\n\n');
    expect(String(stream.read())).toBe('data: 1\n\n');
    stream.write('data: sk-');
    expect(String(stream.read())).toBe('data: ');
    stream.end('ill\n\n');
    expect(String(await buffer(stream))).toBe('sk-ill\n\n');
  });
});

describe('Redactor', () => {
  it('shares no secrets between instances, and forgets them when cleared', () => {
    const [first, second] = [new Redactor(), new Redactor()];
    first.protect('first-secret');
    expect(first.redact('first-secret')).toBe('[secret]');
    expect(second.redact('first-secret')).toBe('first-secret');
    first.clear();
    expect(first.redact('first-secret')).toBe('first-secret');
  });
});
