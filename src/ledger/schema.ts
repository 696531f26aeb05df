import type { DatabaseSync } from 'node:sqlite';
import { transaction } from '../sqlite/transaction.ts';

/**
 * `answers`: rows are added or purged. `places`, `new_places`: the index from hash to answers, up to `placed.up_to`; later answers are
 * indexed in memory (see `AnswerIndex`). `placed.purges` counts purging transactions; `placed.unswept`: the index has entries of purged
 * answers. `used`: the answers of earlier runs that a run has used (see `UsedAnswers`). `runs.writes` counts a run's transactions, so that
 * each of them changes a page and reaches the disk; `runs.spent`: the run's spending at the last of them. `holders`: the runs that have the
 * file open now (see `Presence`).
 *
 * Numbered migrations: `user_version` is the number of them that a file has had. Never edit one that was released.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE scopes (
     id INTEGER PRIMARY KEY, origin TEXT NOT NULL, step TEXT NOT NULL, options TEXT NOT NULL,
     UNIQUE (origin, step, options)) STRICT;
   CREATE TABLE runs (
     id INTEGER PRIMARY KEY, job TEXT NOT NULL, run TEXT NOT NULL UNIQUE,
     lookups INTEGER NOT NULL DEFAULT 0, reused INTEGER NOT NULL DEFAULT 0) STRICT;
   CREATE TABLE answers (
     id INTEGER PRIMARY KEY, scope INTEGER NOT NULL, key TEXT NOT NULL, run INTEGER NOT NULL,
     at INTEGER NOT NULL, kind INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
   CREATE TABLE places (hash INTEGER NOT NULL, answer INTEGER NOT NULL, PRIMARY KEY (hash, answer)) STRICT, WITHOUT ROWID;
   CREATE TABLE new_places (hash INTEGER NOT NULL, answer INTEGER NOT NULL, PRIMARY KEY (hash, answer)) STRICT, WITHOUT ROWID;
   CREATE TABLE placed (up_to INTEGER NOT NULL, purges INTEGER NOT NULL, unswept INTEGER NOT NULL) STRICT;
   INSERT INTO placed VALUES (0, 0, 0);
   CREATE TABLE used (run INTEGER NOT NULL, block INTEGER NOT NULL, bits BLOB NOT NULL, PRIMARY KEY (run, block)) STRICT, WITHOUT ROWID;`,
  `CREATE TABLE holders (
     id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, job TEXT NOT NULL,
     process TEXT NOT NULL, renewed_at INTEGER NOT NULL) STRICT;
   ALTER TABLE runs ADD COLUMN writes INTEGER NOT NULL DEFAULT 0;`,
  "ALTER TABLE runs ADD COLUMN spent TEXT NOT NULL DEFAULT '';",
];

/** No lookup: the scope of a purged row. Scopes are numbered from 1. */
export const NO_SCOPE = 0;

/** `PRAGMA application_id`: marks a file as a ledger, so that another SQLite file is never written to. */
const APPLICATION_ID = 0x4d4c4c47;

/** How long a write waits for another process that is writing, milliseconds. */
export const BUSY_MS = 15_000;

/** Prepares an opened file. Throws for another program's database, or one of a newer version. */
export function prepareLedger(db: DatabaseSync): void {
  // Large pages, because few large writes cost less than many small ones, and an answer has 0.3 to 3 kB. auto_vacuum lets a purge return
  // pages in small steps, if it is set when the file is created.
  db.exec(
    `PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA page_size = 16384; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA ` +
      'synchronous = FULL; PRAGMA secure_delete = FAST; PRAGMA cache_size = -16384;',
  );
  migrate(db);
}

/** The same for a file whose answers are only read. One of an older version is brought up to date. */
export function checkLedger(db: DatabaseSync): void {
  db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  checkOwner(db);
  migrate(db);
}

function migrate(db: DatabaseSync): void {
  if (isCurrent(db)) return;
  transaction(db, () => {
    const version = pragma(db, 'user_version');
    const tables = Number(db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n'] ?? 0);
    if (tables > 0) checkOwner(db);
    if (version > MIGRATIONS.length) throw new Error(TOO_NEW);
    for (const migration of MIGRATIONS.slice(version)) db.exec(migration);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length};`);
  });
}

const TOO_NEW = 'it was written by a newer version of Millrace';

function checkOwner(db: DatabaseSync): void {
  if (pragma(db, 'application_id') !== APPLICATION_ID) throw new Error('it is a database of another program');
}

function isCurrent(db: DatabaseSync): boolean {
  return pragma(db, 'user_version') === MIGRATIONS.length && pragma(db, 'application_id') === APPLICATION_ID;
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0] ?? 0);
}
