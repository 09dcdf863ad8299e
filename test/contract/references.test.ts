import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inferencePath, pathSegment, projectId } from '../../src/contract/identifiers.ts';
import { formatReference, parsePartReference, parseReference } from '../../src/contract/references.ts';
import { caseCount } from '../support/cases.ts';

describe('parseReference', () => {
  it('returns the parts of a reference', () => {
    expect(parseReference('weave:///demo/support/object/triage:v3')).toEqual({
      scheme: 'weave',
      entity: 'demo',
      project: 'support',
      kind: 'object',
      name: 'triage',
      version: 'v3',
    });
    expect(parseReference('weave:///demo/support/call/0190-aa')).toEqual({
      scheme: 'weave',
      entity: 'demo',
      project: 'support',
      kind: 'call',
      name: '0190-aa',
    });
    expect(parseReference('weave:///demo/support/table/f98daf48')).toEqual({
      scheme: 'weave',
      entity: 'demo',
      project: 'support',
      kind: 'table',
      name: 'f98daf48',
    });
  });

  it.each([
    '',
    'triage:latest',
    'weave://demo/support/object/triage:latest',
    'weave:///demo/support/object/triage',
    'weave:///demo/support/thing/triage:latest',
    'weave:///demo/support/object/tri age:latest',
    'weave:///demo/support/object/triage:latest:v1',
    'weave:///demo/object/triage:latest',
    `weave:///demo/support/object/${'a'.repeat(129)}:latest`,
    'weave:///demo/support/call/abc:v1',
    'weave:///demo/support/table/abc:v1',
  ])('returns undefined for %j', (text) => {
    expect(parseReference(text)).toBeUndefined();
  });

  it('accepts names with letters and digits of any script', () => {
    expect(parseReference('weave:///demo/support/object/prüfung_検査-1.0:v3')).toMatchObject({
      name: 'prüfung_検査-1.0',
      version: 'v3',
    });
    expect(parseReference('weave:///demo/support/object/👍:v3')).toBeUndefined();
  });

  it('parses what formatReference returns', () => {
    const name = fc.stringMatching(/^[\w.-]{1,128}$/);
    const segment = fc.stringMatching(/^[A-Za-z0-9_.-]{1,20}$/);
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z][a-z0-9+.-]{0,8}$/),
        segment,
        segment,
        fc.constantFrom('object' as const, 'op' as const),
        name,
        fc.stringMatching(/^[A-Za-z0-9]{1,43}$/),
        (scheme, entity, project, kind, objectName, version) => {
          const reference = { scheme, entity, project, kind, name: objectName, version };
          const text = formatReference(reference);
          expect(parseReference(text)).toEqual(reference);
        },
      ),
    );
  });

  it('never throws, and formatReference restores the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const reference = parseReference(text);
        if (reference) expect(formatReference(reference)).toBe(text);
      }),
    );
  });
});

describe('parsePartReference', () => {
  const object = { scheme: 'weave', entity: 'p', project: 'q', kind: 'object', name: 'rows', version: 'abc' };

  it.each([
    ['weave:///p/q/object/rows:abc', []],
    ['weave:///p/q/object/rows:abc/attr/rows', [{ edge: 'attr', name: 'rows' }]],
    [
      'weave:///p/q/object/rows:abc/attr/rows/index/0',
      [
        { edge: 'attr', name: 'rows' },
        { edge: 'index', name: '0' },
      ],
    ],
    [
      'weave:///p/q/object/rows:abc/attr/rows/id/xyz/key/a%2Fb',
      [
        { edge: 'attr', name: 'rows' },
        { edge: 'id', name: 'xyz' },
        { edge: 'key', name: 'a/b' },
      ],
    ],
    ['weave:///p/q/object/rows:abc/key/', [{ edge: 'key', name: '' }]],
  ])('returns the object and the path of %s', (text, path) => {
    expect(parsePartReference(text)).toEqual({ object, path });
  });

  it('returns the table and the row of a reference to a row', () => {
    const table = { scheme: 'weave', entity: 'p', project: 'q', kind: 'table', name: 'abc' };
    expect(parsePartReference('weave:///p/q/table/abc/id/xyz')).toEqual({
      object: table,
      path: [{ edge: 'id', name: 'xyz' }],
    });
  });

  it('accepts paths of up to 100 steps', () => {
    const steps = (count: number) => parsePartReference(`weave:///p/q/object/rows:abc${'/attr/x'.repeat(count)}`);
    expect([steps(100)?.path.length, steps(101), steps(100_000)]).toEqual([100, undefined, undefined]);
  });

  it.each([
    '',
    'weave:///p/q/table/abc',
    'weave:///p/q/object/rows',
    'weave:///p/q/object/rows/attr/rows',
    'weave:///p/q/call/c',
    'weave:///p/q/object/rows:abc/attr',
    'weave:///p/q/object/rows:abc/row/1',
    'weave:///p/q/object/rows:abc/attr/%zz',
    'weave:///p/q/object/rows:abc/',
  ])('returns undefined for %j', (text) => {
    expect(parsePartReference(text)).toBeUndefined();
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (part) => {
        const parsed = parsePartReference(`weave:///p/q/object/rows:abc/attr/${part}`);
        if (parsed) expect(parsed.object).toEqual(object);
      }),
    );
  });
});

describe('pathSegment', () => {
  it.each(['', '.', '..', 'a/b', 'a\\b', 'a%2fb', 'a b', 'a?b', 'a#b', 'a\u0000b', 'a\ud800b', 'a\u0085b'])(
    'rejects %j',
    (text) => {
      expect(pathSegment.safeParse(text).success).toBe(false);
    },
  );
});

describe('projectId', () => {
  it.each(['support', '/support', 'demo/', 'demo/support/x', '../support', 'demo/..', 'demo/a b'])(
    'rejects %j',
    (text) => {
      expect(projectId.safeParse(text).success).toBe(false);
    },
  );
});

describe('inferencePath', () => {
  it.each(['/../../v2/x', 'chat', '//chat', '/chat//x', '/./x', '/%2e%2e/x', '/a\\b', 'http://x', '/a?b', '/a#b', '/'])(
    'rejects %j',
    (text) => {
      expect(inferencePath.safeParse(text).success).toBe(false);
    },
  );

  it('accepts only paths that stay below their prefix', () => {
    const piece = fc.constantFrom('/', '.', '..', 'a', '%2e', '%2f', '\\', ':', '?', '#', '@', ' ', '\t');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const path = `/${pieces.join('')}`;
        if (!inferencePath.safeParse(path).success) return;
        expect(new URL(`http://host/inference/v1${path}`).href).toBe(`http://host/inference/v1${path}`);
      }),
      { numRuns: caseCount(2000) },
    );
  });
});
