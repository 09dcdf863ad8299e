import { describe, expect, it } from 'vitest';
import { databaseUrls, describeData } from '../../src/core/database-url.ts';

const split = (text: string) => databaseUrls(text)?.map(({ href }) => href);

describe('databaseUrls', () => {
  it('returns one URL for each host, with the same user, database and parameters', () => {
    expect(
      split('postgres://ada:se,cr%40et@one:5432,two.example:6432,[::1]:7,four/weave?sslmode=require&a=b,c'),
    ).toEqual([
      'postgres://ada:se,cr%40et@one:5432/weave?sslmode=require&a=b,c',
      'postgres://ada:se,cr%40et@two.example:6432/weave?sslmode=require&a=b,c',
      'postgres://ada:se,cr%40et@[::1]:7/weave?sslmode=require&a=b,c',
      'postgres://ada:se,cr%40et@four/weave?sslmode=require&a=b,c',
    ]);
  });

  it.each([
    'postgres://ada@one/weave',
    'postgresql://one',
    'postgres:///weave',
    'postgres://ada@one/weave?options=-c%20search_path%3Da,b',
    'postgres://%2Fvar%2Frun%2Fpostgresql/weave',
  ])('leaves a URL with one host or none as it is: %s', (url) => {
    expect(split(url)).toEqual([url]);
  });

  it.each(['', 'mysql://one/a', 'postgres:one', 'postgres://one,/a', 'postgres://,two/a', 'postgres://one,:5432/a'])(
    'refuses %j',
    (text) => {
      expect(split(text)).toBeUndefined();
    },
  );

  it.each(['postgres://one:port/a', 'postgres://one:5432,two:port/a', 'postgres://one:5432,two:99999/a'])(
    'refuses a port that is not a number or too large: %s',
    (text) => {
      expect(split(text)).toBeUndefined();
    },
  );
});

describe('describeData', () => {
  it.each([
    ['/home/ada/heddle.db', '/home/ada/heddle.db'],
    ['postgres://ada:hush@127.0.0.1/heddle?password=hush', 'the database heddle at 127.0.0.1'],
    ['postgres://ada:hush@one:5432,two/heddle', 'the database heddle at one:5432, two'],
    ['postgres://ada@%2Fvar%2Frun%2Fpostgresql/heddle', 'the database heddle at /var/run/postgresql'],
    ['postgres:///heddle?host=/run/postgresql', 'the database heddle at /run/postgresql'],
    ['postgres:///', 'the database'],
  ])('names the data in %s without secrets', (data, description) => {
    expect(describeData(data)).toBe(description);
  });
});
