import { expect, it } from 'vitest';
import { redisError, redisFaultOf } from '../../src/redis/failure.ts';
import { parseRedisUri, withoutSecret } from '../../src/redis/uri.ts';

const PLAIN = {
  host: 'cache.example',
  port: 6379,
  database: 0,
  tls: false,
  username: null,
  password: null,
  cacert: null,
  cert: null,
  key: null,
};

it.each([
  ['redis://cache.example', PLAIN],
  ['redis://cache.example/', PLAIN],
  ['redis://cache.example:7000/3', { ...PLAIN, port: 7000, database: 3 }],
  ['rediss://cache.example', { ...PLAIN, tls: true }],
  ['redis://[::1]:6380/1', { ...PLAIN, host: '::1', port: 6380, database: 1 }],
  ['redis://:p%40ss%2Fword@cache.example/2', { ...PLAIN, database: 2, password: 'p@ss/word' }],
  ['redis://me:secret@cache.example', { ...PLAIN, username: 'me', password: 'secret' }],
  ['rediss://cache.example/0?cacert=/run/ca.pem', { ...PLAIN, tls: true, cacert: '/run/ca.pem' }],
  ['rediss://cache.example?cert=tls%20one.crt&key=tls.key', { ...PLAIN, tls: true, cert: 'tls one.crt', key: 'tls.key' }],
  ['rediss://cache.example?cert=tls.crt', null],
  ['rediss://cache.example?cacert=', null],
  ['rediss://cache.example?cacert=a&cacert=b', null],
  ['rediss://cache.example?ca=a', null],
  ['redis://cache.example?cacert=a', null],
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

it('the shown address has no user and no password', () => {
  expect(withoutSecret('redis://me:secret@cache.example:7000/3')).toBe('redis://cache.example:7000/3');
  expect(withoutSecret('rediss://me:secret@cache.example/0?cert=/run/tls.crt&key=/run/tls.key')).toBe('rediss://cache.example/0');
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
  ["READONLY You can't write against a read only replica.", 'ReplyError', 'replica'],
  ["NOPERM this user has no permissions to run the 'get' command", 'ReplyError', 'rights'],
  ["ERR The user executing the script can't run this command or subcommand script: 5, on @user_script:2.", 'ReplyError', 'rights'],
  ['ERR max number of clients reached', 'ReplyError', 'passing'],
  ['ERR DB index is out of range', 'ReplyError', 'database'],
  ['CLUSTERDOWN The cluster is down', 'ReplyError', 'passing'],
  ['Too many Cluster redirections. Last error: Error: Connection is closed.', 'Error', 'passing'],
  ['Unknown RESP type 72 "H". Please report this.', 'Error', 'foreign'],
  ['Unknown RESP type 21 "\u0015". Please report this.', 'Error', 'encrypted'],
  ["ERR unknown command 'EVAL'", 'ReplyError', 'refused'],
  ['Command timed out', 'Error', 'passing'],
  ['connect ECONNREFUSED 127.0.0.1:6379', 'Error', 'passing'],
])('%s', (message, name, fault) => {
  expect(redisFaultOf(Object.assign(new Error(message), { name }))).toBe(fault);
});

it("the hint asks about the host's spelling while no address was found and the server never answered", () => {
  const error = Object.assign(new Error('getaddrinfo ENOTFOUND cahce.example'), { code: 'ENOTFOUND' });
  const circumstances = { uri: 'redis://cahce.example', waitedMs: 30_000, rights: '+get' };
  expect(redisError(error, { ...circumstances, answered: false })).toMatchObject({
    exitCode: 74,
    hint: expect.stringContaining('spelling'),
  });
  expect(redisError(error, { ...circumstances, answered: true })).toMatchObject({
    exitCode: 74,
    hint: expect.not.stringContaining('spelling'),
  });
});
