import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { isDiskFailure, systemCodeOf } from '../../src/sqlite/system-code.ts';
import { cleanUp } from '../support/clean-up.ts';

function failureOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}

function database(): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  cleanUp(() => db.close());
  db.exec('CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)');
  return db;
}

const FULL =
  'PRAGMA max_page_count = 1; WITH RECURSIVE n (i) AS (SELECT 2 UNION ' +
  'ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO t SELECT i FROM n';

it.each([
  ['a full disk, as SQLite says it', (): void => database().exec(FULL), 'ENOSPC', true],
  [
    'a file that may not be written, as SQLite says it',
    (): void => database().exec('PRAGMA query_only = ON; DELETE FROM t'),
    'EROFS',
    true,
  ],
  ['a row that is there already', (): void => database().exec('INSERT INTO t VALUES (1)'), undefined, false],
  ['a file that is not there, as Node says it', (): unknown => readFileSync('/there/is/none'), 'ENOENT', false],
  // Node calls it "Unknown system error -122".
  [
    'a quota that is reached',
    (): void => {
      throw Object.assign(new Error(), { code: 'Unknown system error -122', errno: -122 });
    },
    'EDQUOT',
    true,
  ],
  [
    'an error of the program',
    (): void => {
      throw new TypeError('no');
    },
    undefined,
    false,
  ],
] as const)('%s', (_, work, code, isDisk) => {
  const error = failureOf(work);
  expect([systemCodeOf(error), isDiskFailure(error)]).toEqual([code, isDisk]);
});

it('a failed read or write of the disk has no system name in SQLite, but counts as a disk failure', () => {
  expect([systemCodeOf({ code: 'ERR_SQLITE_ERROR', errcode: 4_874 }), isDiskFailure({ code: 'ERR_SQLITE_ERROR', errcode: 4_874 })]).toEqual(
    [undefined, true],
  );
  expect([systemCodeOf(null), isDiskFailure(undefined)]).toEqual([undefined, false]);
});
