import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeddleError } from '../../src/core/errors.ts';
import { Redactor } from '../../src/core/redaction.ts';

const secret = fc.string({ unit: 'grapheme', minLength: 8, maxLength: 60 }).filter((text) => text.trim().length >= 8);
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
  hex: (text) => Buffer.from(text).toString('hex'),
};

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
    );
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
