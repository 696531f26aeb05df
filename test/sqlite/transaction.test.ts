import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { beginWriting, rollback, shortTransactions, transaction } from '../../src/sqlite/transaction.ts';

/** Holds the file most of the time, and releases it for moments that a waiter with ten attempts a second would miss. */
const HOLDER = `
  const { workerData } = require('node:worker_threads');
  const db = new (require('node:sqlite').DatabaseSync)(workerData.path, { timeout: 60_000 });
  const nap = (ms) => Atomics.wait(workerData.state, 1, 0, ms);
  while (Atomics.load(workerData.state, 0) === 0) {
    db.exec('BEGIN IMMEDIATE');
    Atomics.add(workerData.state, 2, 1);
    Atomics.notify(workerData.state, 2);
    nap(90);
    db.exec('COMMIT');
    nap(8);
  }
  db.close();
`;
const [STOP, , ROUNDS] = [0, 1, 2];
/** Milliseconds. The test ends if the holder died. */
const WAIT_MS = 10_000;

describe('beginWriting', () => {
  let folder = '';
  let path = '';
  let db: DatabaseSync;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-transaction-'));
    path = join(folder, 'some.sqlite');
    db = new DatabaseSync(path, { timeout: 60_000 });
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT)');
  });
  afterEach(() => {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('finds the moments between the transactions of a continuous writer', async () => {
    const state = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT));
    const holder = new Worker(HOLDER, { eval: true, workerData: { path, state } });
    const ended = once(holder, 'exit');
    await Atomics.waitAsync(state, ROUNDS, 0, WAIT_MS).value;
    let most = 0;
    for (let turn = 0; turn < 4; turn++) {
      // The other writer has just begun.
      Atomics.wait(state, ROUNDS, Atomics.load(state, ROUNDS), WAIT_MS);
      const before = Atomics.load(state, ROUNDS);
      transaction(db, () => db.exec("INSERT INTO notes VALUES ('mine')"));
      most = Math.max(most, Atomics.load(state, ROUNDS) - before);
    }
    Atomics.store(state, STOP, 1);
    await ended;
    expect(db.prepare('SELECT count(*) AS notes FROM notes').get()).toEqual({ notes: 4 });
    // SQLite alone misses a dozen of them.
    expect(most).toBeLessThanOrEqual(5);
  });

  it('fails after its busy timeout, does not wait when that is 0, and restores the timeout', () => {
    const other = new DatabaseSync(path);
    beginWriting(other);
    for (const waitMs of [0, 20]) {
      db.exec(`PRAGMA busy_timeout = ${waitMs}`);
      expect(() => beginWriting(db)).toThrow(/locked/);
      expect(db.prepare('PRAGMA busy_timeout').get()).toEqual({ timeout: waitMs });
      expect(db.isTransaction).toBe(false);
    }
    rollback(other);
    beginWriting(db);
    expect(db.isTransaction).toBe(true);
    expect(db.prepare('PRAGMA busy_timeout').get()).toEqual({ timeout: 20 });
    rollback(db);
    other.close();
  });

  it('throws at once for an error that waiting does not fix', () => {
    beginWriting(db);
    expect(() => beginWriting(db)).toThrow(/within a transaction/);
    rollback(db);
  });
});

it('many items are written in transactions of a few, and a failure undoes only the items of its own', () => {
  const db = new DatabaseSync(':memory:');
  db.exec('CREATE TABLE items (n INTEGER)');
  const add = db.prepare('INSERT INTO items VALUES (?)');
  const write = (items: readonly number[]): void =>
    shortTransactions(db, items, 3, (n) => {
      if (n === 8) throw new Error('eight');
      add.run(n);
    });
  const stored = (): unknown[] =>
    db
      .prepare('SELECT n FROM items ORDER BY n')
      .all()
      .map(({ n }) => n);
  write([]);
  expect(() => write([1, 2, 3, 4, 5, 6, 7, 8, 9])).toThrow('eight');
  expect(stored()).toEqual([1, 2, 3, 4, 5, 6]);
  write([7, 9]);
  expect([stored(), db.isTransaction]).toEqual([[1, 2, 3, 4, 5, 6, 7, 9], false]);
  db.close();
});
