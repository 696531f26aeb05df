import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setTimeout as after } from 'node:timers/promises';
import { EXIT, MillraceError } from '../util/errors.ts';
import { transaction } from '../sqlite/transaction.ts';
import { answersInPieces, ledgerBytes, withLedger } from './connection.ts';
import { HASHES, lookupHash } from './key-hash.ts';
import { mentionsOf } from './mentions.ts';
import { NO_SCOPE } from './schema.ts';

/** Answers that meet every given condition are removed. */
export interface PurgeFilter {
  /** In the form of the ledger's keys: lookups of this address, and answers that mention it. */
  readonly email: string | null;
  /** Answered before this time, milliseconds since 1970. */
  readonly before: number | null;
}

export interface Purged {
  readonly answers: number;
  /** By step. */
  readonly steps: Readonly<Record<string, number>>;
  /** On the disk, the write-ahead log included. */
  readonly bytes: { readonly before: number; readonly after: number };
}

/** Up to this many rows are removed from the index one by one. More are swept at the end. */
const FEW_ROWS = 64;
/**
 * Empty rows that stay between a full row and deleted rows. Deleting makes SQLite merge pages: it copies rows and may leave their bytes in
 * the old place for good. This many empty rows (12 bytes each) fill more than the three pages that one merge reads, and none holds an
 * answer.
 */
const GUARD_ROWS = 8_192;
/** Index entries swept in one transaction, about. */
const SWEPT_AT_ONCE = 20_000;
/** Pages of 16 KiB given back to the disk at once. */
const PAGES_AT_ONCE = 512;
/** A job that waits to write gets its turn in between. */
const PAUSE_MS = 10;

type Row = readonly [id: number, scope: number, key: string, at: number, body: string];

/**
 * Removes answers so that no byte of them stays in the files: rows overwritten (`secure_delete`), empty pages returned, the write-ahead log
 * emptied. Transactions are short: jobs may use the ledger meanwhile, and after a crash the same purge does the rest. Memory is constant.
 * @throws InputError when the ledger does not exist, MillraceError 75 when another process keeps it locked
 */
export function purgeLedger(path: string, filter: PurgeFilter): Promise<Purged> {
  return withLedger(path, async (db) => {
    const bytesBefore = ledgerBytes(path);
    db.exec('PRAGMA synchronous = FULL; PRAGMA cache_size = -16384; PRAGMA secure_delete = ON');
    const steps = await removeAnswers(db, filter);
    await sweepIndex(db);
    await giveBackPages(db);
    emptyLog(db, path);
    return {
      answers: Object.values(steps).reduce((sum, n) => sum + n, 0),
      steps,
      bytes: { before: bytesBefore, after: ledgerBytes(path) },
    };
  });
}

/** A test of answers, by key, time and body. */
export function purgeTest({ email, before }: PurgeFilter): (key: string, at: number, body: string) => boolean {
  const mentions = email === null ? null : mentionsOf(email);
  return (key, at, body) => (before === null || at < before) && (mentions === null || key === email || mentions(body));
}

async function removeAnswers(db: DatabaseSync, filter: PurgeFilter): Promise<Record<string, number>> {
  const goes = purgeTest(filter);
  const meant = ([, scope, key, at, body]: Row): boolean => scope !== NO_SCOPE && goes(key, at, body);
  const stepOf = new Map(
    db
      .prepare('SELECT id, step FROM scopes')
      .all()
      .map(({ id, step }) => [Number(id), String(step)]),
  );
  const steps: Record<string, number> = {};
  const remover = new Remover(db);
  const run = new EmptyRun();
  for (const rows of answersInPieces<Row>(db, 'scope, key, at, body')) {
    const gone = rows.filter(meant);
    const emptied = new Set(gone.map(([id]) => id));
    const surplus = rows.flatMap(([id, scope]) => run.next(id, scope === NO_SCOPE || emptied.has(id)));
    remover.remove(gone, surplus);
    for (const [, scope] of gone) {
      const step = stepOf.get(scope) ?? 'unknown';
      steps[step] = (steps[step] ?? 0) + 1;
    }
    await after(gone.length > 0 ? PAUSE_MS : 0);
  }
  remover.removeEnd(run.end());
  return steps;
}

/** A run of empty rows, which decides what may be deleted. */
class EmptyRun {
  /** Empty rows that must still follow the last full one; none at the beginning of the table. */
  #missing = 0;
  /** The latest empty rows beyond those, which would have to precede a full row. */
  readonly #latest: number[] = [];

  /** The next row, in order of id. Returns the rows before it that may go. */
  next(id: number, empty: boolean): number[] {
    if (!empty) {
      this.#missing = GUARD_ROWS;
      this.#latest.length = 0;
      return [];
    }
    if (this.#missing > 0) {
      this.#missing--;
      return [];
    }
    this.#latest.push(id);
    return this.#latest.length > 2 * GUARD_ROWS ? this.#latest.splice(0, GUARD_ROWS) : [];
  }

  /** The empty rows at the end of the table, where no full row follows. */
  end(): readonly number[] {
    return this.#latest;
  }
}

class Remover {
  readonly #db: DatabaseSync;
  readonly #empty: StatementSync;
  readonly #delete: StatementSync;
  readonly #newest: StatementSync;
  readonly #forget: readonly StatementSync[];
  readonly #note: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    // Emptied in place, so that no row moves. The newest row is never deleted: its number must not be given to another answer.
    this.#empty = db.prepare(`UPDATE answers SET scope = ${NO_SCOPE}, key = '', run = 0, at = 0, kind = 0, body = '' WHERE id = ?`);
    this.#delete = db.prepare(`DELETE FROM answers WHERE id = ? AND scope = ${NO_SCOPE}`);
    this.#newest = db.prepare('SELECT max(id) AS id FROM answers');
    this.#forget = ['places', 'new_places'].map((table) => db.prepare(`DELETE FROM ${table} WHERE hash = ? AND answer = ?`));
    this.#note = db.prepare('UPDATE placed SET purges = purges + 1, unswept = max(unswept, ?)');
  }

  remove(gone: readonly Row[], surplus: readonly number[]): void {
    if (gone.length === 0 && surplus.length === 0) return;
    transaction(this.#db, () => {
      for (const [id] of gone) this.#empty.run(id);
      for (const id of surplus) this.#delete.run(id);
      if (gone.length === 0) return;
      const few = gone.length <= FEW_ROWS;
      if (few) for (const [id, scope, key] of gone) for (const statement of this.#forget) statement.run(lookupHash(scope, key), id);
      this.#note.run(few ? 0 : 1);
    });
  }

  /** Deletes rows at the end of the table, unless a job has added to it. The newest row stays. */
  removeEnd(ids: readonly number[]): void {
    const newest = ids.at(-1);
    if (newest === undefined) return;
    transaction(this.#db, () => {
      if (this.#newest.get()?.['id'] !== newest) return;
      for (const id of ids.slice(0, -1)) this.#delete.run(id);
    });
  }
}

/** Removes index entries of purged answers, also those that a killed purge left. */
async function sweepIndex(db: DatabaseSync): Promise<void> {
  if (db.prepare('SELECT unswept FROM placed').get()?.['unswept'] === 0) return;
  const sweeps = ['places', 'new_places'].map((table) =>
    db.prepare(
      `DELETE FROM ${table} WHERE hash >= ? AND hash < ? AND NOT EXISTS (SELECT 1 FROM answers WHERE id = answer AND scope <> ${NO_SCOPE})`,
    ),
  );
  const entries = Number(db.prepare('SELECT (SELECT count(*) FROM places) + (SELECT count(*) FROM new_places) AS n').get()?.['n']);
  const width = Math.ceil(HASHES / Math.max(1, entries / SWEPT_AT_ONCE));
  for (let from = 0; from < HASHES; from += width) {
    const to = from + width;
    const swept = transaction(db, () => sweeps.reduce((sum, sweep) => sum + Number(sweep.run(from, to).changes), 0));
    await after(swept > 0 ? PAUSE_MS : 0);
  }
  transaction(db, () => db.exec('UPDATE placed SET unswept = 0'));
}

async function giveBackPages(db: DatabaseSync): Promise<void> {
  const free = db.prepare('PRAGMA freelist_count');
  for (
    let left = Number(free.get()?.['freelist_count']), last = Infinity;
    left > 0 && left < last;
    last = left, left = Number(free.get()?.['freelist_count'])
  ) {
    db.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
    await after(PAUSE_MS);
  }
}

/** The write-ahead log still has the old pages. */
function emptyLog(db: DatabaseSync, path: string): void {
  const { busy } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number };
  if (busy === 0) return;
  throw new MillraceError(
    EXIT.stopped,
    'ledger_busy',
    `the answers are deleted, but another process keeps ${path}-wal, where they still stand, from being emptied`,
    { hint: 'End or wake it, then run the same command again.' },
  );
}
