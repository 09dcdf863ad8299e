import { describe, expect, it } from 'vitest';
import { type Invocation, withInvocation } from '../../../src/cli/invocation.ts';
import { alignTables, drawRecord, widthOf } from '../../../src/cli/terminal/aligned-table.ts';
import { drawProgress } from '../../../src/cli/terminal/progress.ts';

const lines = (...texts: string[]): string => texts.join('\n');
const cutNote = 'Values with … are cut; --json shows them whole.';

describe('alignTables', () => {
  it('aligns text at the left and numbers at the right, and keeps the lines around a table', () => {
    const text = lines('2 items.', 'id\titems\tstate', 'a\t3\tunstarted', 'bcd\t12\tdone', 'Last page.');
    expect(alignTables(text, 80)).toBe(
      lines('2 items.', 'id   items  state', 'a        3  unstarted', 'bcd     12  done', 'Last page.'),
    );
  });

  it('cuts values that have an ellipsis', () => {
    const value = `This is…l of Poland? ${'x'.repeat(150)}`;
    expect(alignTables(lines('a\tb\tc', `${'y'.repeat(90)}\t${value}\t1`), 120)).toBe(
      lines(
        `a${' '.repeat(91)}b${' '.repeat(26)}c`,
        `${'y'.repeat(90)}  This is…l of Poland? xxx…  1`,
        'Values with … are cut; --json shows them whole.',
      ),
    );
  });

  it('colors better and worse in verdicts, on a terminal that shows colors', () => {
    const text = lines(
      'exact: better: +75 points (+18.2 to +92.8) on 8 rows',
      'scorer\tbetter\tverdict',
      'exact\t6\tbetter',
      'tone\t0\tcould be chance',
    );
    const list = lines('question\tchanges', `${'Is it better? '.repeat(9)}\texact worse, tone better`);
    const draw = (isTTY: boolean, environment: object): string =>
      withInvocation({ stdout: { isTTY }, environment } as unknown as Invocation, () =>
        lines(alignTables(text, 80), alignTables(list, 80)),
      );
    const colored = draw(true, {});
    const plain = draw(false, {});
    expect(colored).toContain('exact: \u001b[32mbetter\u001b[39m: +75 points');
    expect(colored).toContain('\nexact        6  \u001b[32mbetter\u001b[39m\ntone         0  could be chance\n');
    expect(colored).toContain('exact \u001b[31mworse\u001b[39m, tone \u001b[32mbetter\u001b[39m');
    expect(colored.split('\u001b[39m')).toHaveLength(5);
    expect(plain).not.toContain('\u001b');
    expect(draw(true, { NO_COLOR: '1' })).toBe(plain);
  });

  it('cuts ids first and then the widest columns, but the first and short values never', () => {
    const names = 'name\tcall_id\tquestion\tanswer\tscore short';
    const text = lines(names, `${'x'.repeat(20)}\t${'i'.repeat(30)}\t${'q'.repeat(90)}\t${'a'.repeat(15)}\ttrue`);
    expect(alignTables(text, 120)).toBe(
      lines(
        'name                  call_id     question                                                  answer           score short',
        `xxxxxxxxxxxxxxxxxxxx  …iiiiiiiii  ${'q'.repeat(55)}…  aaaaaaaaaaaaaaa  true`,
        cutNote,
      ),
    );
  });

  it('shows the end of an id as far as it differs from the other ids, and all of it where there is room', () => {
    const ids = ['019ab4f2-7c1e-7000-800a-000000000001', '019ab4f2-7c1e-7000-800b-000000000001'];
    const table = (value: string): string =>
      lines('id\tcall_id\tanswer', ...ids.map((id) => `${id}\tcall-${id}\t${value}`));
    expect(alignTables(table('q'.repeat(200)), 120)).toBe(
      lines(
        'id               call_id          answer',
        `…a-000000000001  …a-000000000001  ${'q'.repeat(85)}…`,
        `…b-000000000001  …b-000000000001  ${'q'.repeat(85)}…`,
        cutNote,
      ),
    );
    expect(
      alignTables(table('Five days.'.repeat(6)), 120)
        .split('\n')
        .slice(0, 2),
    ).toEqual([
      'id                                    call_id          answer',
      `019ab4f2-7c1e-7000-800a-000000000001  …a-000000000001  ${'Five days.'.repeat(6)}`,
    ]);
  });

  it('wraps names before it cuts values, so that names that begin alike stay different', () => {
    const names = ['score answer_says_where_the_ward', 'score answer_says_where_the_physician'];
    const text = lines(
      `question\tanswer\t${names.join('\t')}`,
      `${'q'.repeat(40)}\t${'a'.repeat(60)}\tpassed\tnot passed`,
    );
    expect(alignTables(text, 120)).toBe(
      lines(
        `question${' '.repeat(34)}answer${' '.repeat(20)}score answer_says_where_  score answer_says_where_`,
        `${' '.repeat(68)}the_ward                  the_physician`,
        `${'q'.repeat(40)}  ${'a'.repeat(23)}…  passed                    not passed`,
        cutNote,
      ),
    );
    expect(drawRecord([[names[0]!, 'passed']], 60)).toBe(lines('score answer_says_wh  passed', 'ere_the_ward'));
  });

  it('cuts no score, judgement or choice: a table that would need it is written as a list', () => {
    const row = ['i'.repeat(90), 'root (heddle): helpful=true score=4; ben: helpful=false', 'a'.repeat(90)];
    expect(alignTables(lines('id\tjudgements\tanswer', row.join('\t')), 120)).toBe(
      lines(
        `id          judgements                                                answer`,
        `…iiiiiiiii  root (heddle): helpful=true, score=4; ben: helpful=false  ${'a'.repeat(49)}…`,
        cutNote,
      ),
    );
    const long = Array.from({ length: 9 }, (_, at) => `person${at}: helpful=true`).join('; ');
    const drawn = alignTables(lines('id\tjudgements\tanswer', ['a', long, 'b'.repeat(40)].join('\t')), 160);
    expect(drawn).toContain('\nanswer      bbbb');
    expect(drawn).not.toContain('…');
  });

  it('writes the choices of fields as --field takes them', () => {
    const choices = 'tone (one of ["kind","neu\\u001btral"]): How?; helpful (boolean)';
    expect(alignTables(lines('id\tfields', `a\t${choices}`, `Fields: ${choices}.`), 120)).toBe(
      lines(
        'id  fields',
        'a   tone (kind|neu\\u001btral): How?; helpful (boolean)',
        'Fields: tone (kind|neu\\u001btral): How?; helpful (boolean).',
      ),
    );
  });

  it('says that outputs are shown without the beginning that they share', () => {
    const text = lines('output of run 1\toutput of run 2', 'This is hedd…content: 150\tThis is hedd…content: 160');
    for (const width of [40, 120]) expect(alignTables(text, width)).toContain(`\n${cutNote}`);
  });

  it('writes times to the second', () => {
    const text = lines('call_started_at\tinputs.at', '2026-11-20T09:15:00.123456Z\t2026-11-20T09:15:00.5Z');
    expect(alignTables(text, 120)).toBe(
      lines('call_started_at       inputs.at', '2026-11-20T09:15:00Z  2026-11-20T09:15:00.5Z'),
    );
  });

  it('writes each row as a list on a terminal of less than 120 columns, if the table does not fit', () => {
    const text = lines('id\tquestion\tscore', `${'i'.repeat(30)}\t${'q'.repeat(30)}\ttrue`, 'b\tWhy?\tfalse');
    expect(alignTables(text, 60)).toBe(
      lines(
        `id        ${'i'.repeat(30)}`,
        `question  ${'q'.repeat(30)}`,
        'score     true',
        '',
        'id        b',
        'question  Why?',
        'score     false',
      ),
    );
  });

  it('begins a new table where the number of cells changes', () => {
    const text = lines(
      'scorer\tresult',
      'exact\t50%',
      'slice\trows\tscorer\tresult',
      'en\t2\texact\t100%',
      'de\t3\texact\t0%',
    );
    expect(alignTables(text, 80)).toBe(
      lines(
        'scorer  result',
        'exact   50%',
        '',
        'slice  rows  scorer  result',
        'en        2  exact   100%',
        'de        3  exact   0%',
      ),
    );
  });

  it('writes JSON in words, with its control characters escaped', () => {
    const row = ['{"model":"a","tokens":[1,12345678901234567890]}', '"two\\nlines \\u001b[2J"', '{"cut…'].join('\t');
    expect(alignTables(lines('used\ttext\tother', row), 120)).toBe(
      lines(
        `used${' '.repeat(39)}text                 other`,
        'model: a, tokens: 1, 12345678901234567890  two lines \\u001b[2J  {"cut…',
      ),
    );
  });

  it('writes what is not closed as it is', () => {
    const text = lines('same in every row: a={"b c" d="e\\" f', 'id\tfields', 'x\ttone (one of ["a","b)');
    expect(alignTables(text, 100)).toBe(
      lines('For all of them: a={"b c" d="e\\" f', 'id  fields', 'x   tone (one of ["a","b)'),
    );
  });

  it('leaves out versions of guidelines and which columns are equal', () => {
    const text = lines(
      'same in every row: total=20 guidelines_version=b7622474',
      'columns equal to another: name=id',
      'id\tremaining\tguidelines_version',
      'answers\t20\tb7622474',
    );
    expect(alignTables(text, 100)).toBe(lines('For all of them: total=20', 'id       remaining', 'answers         20'));
  });

  it('writes judgements and the values that all rows share as words', () => {
    const text = lines(
      'same in every row: state=unstarted "score same"="not passed" meta={"x":1,"y":"a b"} note="say \\"hi\\""',
      'id\tjudgements',
      'a\tana: note="say \\"hi\\"\\nto\\tall" kind="a\\"b" tone=3; ben: tone=4',
    );
    expect(alignTables(text, 120)).toBe(
      lines(
        'For all of them: state=unstarted, score same=not passed, meta=x: 1, y: a b, note=say "hi"',
        'id  judgements',
        'a   ana: note=say "hi" to all, kind=a"b, tone=3; ben: tone=4',
      ),
    );
    expect(alignTables(text, 30)).toContain('judgements  ana: note=say "hi"\n            to  all, kind=a"b');
  });

  it('writes an object in JSON as a list of its members', () => {
    const value = { kind: 'equals', messages: [{ role: 'user', content: 'Hi' }, { role: 'system' }], tags: ['a', 'b'] };
    expect(alignTables(lines('scorer, version 0', JSON.stringify(value)), 80)).toBe(
      lines(
        'scorer, version 0',
        'kind      equals',
        'messages  role: user, content: Hi',
        '          role: system',
        'tags      a, b',
      ),
    );
  });

  it('says of a page only what a person needs to go on', () => {
    const page = '3 queues from offset 0. This is the last page.';
    const middle = '2 calls of 9 from offset 20. More follow: next_offset 22.';
    const empty = 'No items at offset 20: 3 match.';
    expect(alignTables(lines(page, middle, empty, 'He read from offset 0.'), 100)).toBe(
      lines(
        '3 queues.',
        '2 calls of 9 after the first 20. More follow with "offset":22.',
        'No items after the first 20: 3 match.',
        'He read from offset 0.',
      ),
    );
  });

  it('leaves out what is null in a call, but not where it was asked for', () => {
    const call = { exception: null, trace_id: 't', output: 'Hi' };
    expect(alignTables(JSON.stringify(call), 80)).toBe(lines('trace_id  t', 'output    Hi'));
    expect(alignTables('{"exception":null}', 80)).toBe('exception  null');
  });

  it('counts wide characters as two columns', () => {
    const drawn = alignTables(lines('b\ta', `x\t${'質問'.repeat(80)}`), 130);
    expect(drawn.split('\n').map(widthOf)).toEqual([4, 130, cutNote.length]);
  });

  it('writes each row as a list where the columns do not fit', () => {
    const names = ['one', 'two', 'three', 'four', 'five'];
    const row = names.map((name) => `${name} `.repeat(10).trim()).join('\t');
    const drawn = alignTables(lines(names.join('\t'), row, row), 40);
    expect(drawn.split('\n\n')).toHaveLength(2);
    for (const line of drawn.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(40);
    expect(drawn).toContain('one    one one one');
  });
});

describe('drawRecord', () => {
  it('wraps values beside their names and keeps their line breaks', () => {
    const record = Object.entries({ answer: 'A refund takes five days.\nAsk again.', n: 1, none: '' });
    expect(drawRecord(record, 24)).toBe(
      lines('answer  A refund takes', '        five days.', '        Ask again.', 'n       1'),
    );
  });

  it('escapes control characters, so that a value cannot change the terminal', () => {
    expect(drawRecord([['a', 'x\u001b[2Jy\u009bz\u202e']], 80)).toBe('a  x\\u001b[2Jy\\u009bz\\u202e');
  });
});

describe('drawProgress', () => {
  it('shows the share that is done', () => {
    const written: string[] = [];
    const stderr = { isTTY: true, columns: 80, write: (text: string) => written.push(text) };
    withInvocation({ stderr } as unknown as Invocation, () => {
      drawProgress({ unit: 'writing', done: 5, total: 10 });
      drawProgress({ unit: 'reading line', done: 500 });
      drawProgress({ unit: 'writing', done: 0, total: 0 });
    });
    expect(written).toEqual([
      '\rwriting [###############...............] 5 of 10\u001b[K',
      '\rreading line 500\u001b[K',
      '\rwriting [##############################] 0 of 0\u001b[K',
    ]);
  });
});
