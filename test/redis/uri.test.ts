import { expect, it } from 'vitest';
import { redisFaultOf } from '../../src/redis/failure.ts';
import { parseRedisUri, withoutSecret } from '../../src/redis/uri.ts';

const PLAIN = { host: 'cache.example', port: 6379, database: 0, tls: false, username: null, password: null };

it.each([
  ['redis://cache.example', PLAIN],
  ['redis://cache.example/', PLAIN],
  ['redis://cache.example:7000/3', { ...PLAIN, port: 7000, database: 3 }],
  ['rediss://cache.example', { ...PLAIN, tls: true }],
  ['redis://[::1]:6380/1', { ...PLAIN, host: '::1', port: 6380, database: 1 }],
  ['redis://:p%40ss%2Fword@cache.example/2', { ...PLAIN, database: 2, password: 'p@ss/word' }],
  ['redis://me:secret@cache.example', { ...PLAIN, username: 'me', password: 'secret' }],
  ['redis://cache.example/nine', null],
  ['redis://cache.example/0?password=x', null],
  ['redis://cache.example/0#x', null],
  ['redis://', null],
  ['redis://:%zz@cache.example', null],
  ['http://cache.example', null],
  ['cache.example', null],
])('%s', (uri, expected) => {
  expect(parseRedisUri(uri)).toEqual(expected);
});

it('shows no user and no password', () => {
  expect(withoutSecret('redis://me:secret@cache.example:7000/3')).toBe('redis://cache.example:7000/3');
  expect(withoutSecret('rediss://:a@b@cache.example')).toBe('rediss://cache.example');
  expect(withoutSecret('s3://bucket/me:secret@key')).toBe('s3://bucket/me:secret@key');
});

it.each([
  ['NOAUTH Authentication required.', 'ReplyError', 'credentials'],
  ['WRONGPASS invalid username-password pair', 'ReplyError', 'credentials'],
  ['ERR AUTH <password> called without any password configured', 'ReplyError', 'credentials'],
  ["OOM command not allowed when used memory > 'maxmemory'.", 'ReplyError', 'full'],
  ['MISCONF Redis is configured to save RDB snapshots', 'ReplyError', 'full'],
  ['LOADING Redis is loading the dataset in memory', 'ReplyError', 'passing'],
  ["READONLY You can't write against a read only replica.", 'ReplyError', 'passing'],
  ["ERR unknown command 'EVAL'", 'ReplyError', 'refused'],
  ['Command timed out', 'Error', 'passing'],
  ['connect ECONNREFUSED 127.0.0.1:6379', 'Error', 'passing'],
])('%s', (message, name, fault) => {
  expect(redisFaultOf(Object.assign(new Error(message), { name }))).toBe(fault);
});
