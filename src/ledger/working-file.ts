/** The local SQLite file of a run whose ledger is in S3 or Redis, and what it has copied from there. */
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { decodeAnswer } from './answer.ts';
import { isLedgerDamage, ledgerFailure } from './failure.ts';
import { Ledger } from './ledger.ts';
import type { LedgerOptions, SharedAnswer } from './options.ts';

/**
 * `segments`: the copied segments, and the bytes copied of each. `published`: the number up to which this run's answers are in the shared
 * ledger, and the time of the latest. `spent`: a run's spending as the copied segments state it, apart from what this file itself counts.
 * `source`: the state of the shared ledger when this file was made from it.
 */
const TABLES = `CREATE TABLE IF NOT EXISTS segments (name TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS published (run TEXT PRIMARY KEY, up_to INTEGER NOT NULL, last_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS spent (run TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS source (mark TEXT NOT NULL) STRICT;`;

const EMPTY = `PRAGMA busy_timeout = 15000; PRAGMA secure_delete = ON; BEGIN IMMEDIATE;
  DELETE FROM answers; DELETE FROM places; DELETE FROM new_places; DELETE FROM used; DELETE FROM segments; DELETE FROM published;
  DELETE FROM source;
  UPDATE runs SET lookups = 0, reused = 0; UPDATE placed SET up_to = 0, purges = purges + 1;
  COMMIT; PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);`;

/** The state of the shared ledger when the file was made. */
interface LedgerSource {
  /** Changes with each purge of the shared ledger. */
  readonly mark: string;
  /** Names of segments, with the bytes of each. */
  readonly segments: ReadonlyMap<string, number>;
}

/** A run's totals, as they travel with its answers. */
export interface SharedTotals {
  readonly lookups: number;
  readonly reused: number;
  readonly lastAt: number;
}

/** The most answers of one batch, and the most characters, except for a longer last answer. */
const PIECE_ANSWERS = 5_000;
const PIECE_CHARS = 4 * 1024 * 1024;

export class WorkingFile {
  readonly ledger: Ledger;
  readonly #options: LedgerOptions;

  private constructor(ledger: Ledger, options: LedgerOptions) {
    this.ledger = ledger;
    this.#options = options;
  }

  /**
   * Opens the file. It is emptied when it holds answers that the shared ledger no longer has, and rebuilt when damaged: the shared ledger
   * has everything that counts. @throws StorageError
   */
  static open(options: LedgerOptions, source: LedgerSource): WorkingFile {
    const file = new WorkingFile(openWhole(options), options);
    file.ledger.transact((db) => db.exec(TABLES));
    if (file.#fits(source)) return file;
    file.ledger.close();
    empty(options.path);
    const anew = new WorkingFile(Ledger.open(options), options);
    anew.ledger.transact((again) => again.prepare('INSERT INTO source VALUES (?)').run(source.mark));
    return anew;
  }

  /** Copied bytes of each segment. */
  segments(): Map<string, number> {
    return this.ledger.transact(
      (db) =>
        new Map(
          db
            .prepare('SELECT name, bytes FROM segments')
            .all()
            .map(({ name, bytes }) => [String(name), Number(bytes)]),
        ),
    );
  }

  /** Stores a segment's answers up to that byte. `totals`, `spent`: this run's, as the segment states them; null where it does not. */
  take(answers: readonly SharedAnswer[], name: string, bytes: number, totals: SharedTotals | null, spent: string | null): void {
    this.ledger.take(answers, (db) => {
      this.#keepSegment(db, name, bytes);
      if (totals !== null) this.#raise(db, totals);
      if (spent !== null)
        db.prepare('INSERT INTO spent VALUES (?, ?) ON CONFLICT DO UPDATE SET text = excluded.text').run(this.#options.run, spent);
    });
  }

  /** This run's spending as the latest of its copied segments states it; none where no segment does. */
  sharedSpent(): readonly string[] {
    const row = this.ledger.transact((db) => db.prepare('SELECT text FROM spent WHERE run = ?').get(this.#options.run));
    return row === undefined ? [] : [String(row['text'])];
  }

  /** Raises this run's totals to those of the shared ledger. */
  raise(totals: SharedTotals): void {
    this.ledger.transact((db) => this.#raise(db, totals));
  }

  /** This run's answers that the shared ledger does not have, oldest first, and the number of the last one read. */
  *unpublished(upTo: number): Generator<{ readonly answers: readonly SharedAnswer[]; readonly upTo: number }, void, void> {
    for (let after = this.#published().upTo; after < upTo;) {
      const piece = this.ledger.transact((db) => this.#piece(db, after, upTo));
      after = piece.upTo;
      if (piece.answers.length > 0) yield piece;
    }
  }

  #piece(db: DatabaseSync, after: number, upTo: number): { answers: SharedAnswer[]; upTo: number } {
    const { job, run } = this.#options;
    const answers: SharedAnswer[] = [];
    let chars = 0;
    const rows = db
      .prepare(
        'SELECT a.id, s.origin, s.step, s.options, a.key, a.at, a.kind, a.body FROM answers a JOIN scopes s ON s.id = a.scope WHERE ' +
          'a.id > ? AND a.id <= ? AND a.run = (SELECT id FROM runs WHERE run = ?) ORDER BY a.id',
      )
      .iterate(after, upTo, run);
    for (const { id, origin, step, options, key, at, kind, body } of rows) {
      answers.push({
        scope: [String(origin), String(step), String(options)],
        key: String(key),
        job,
        run,
        at: Number(at),
        answer: decodeAnswer(Number(kind), String(body)),
      });
      chars += String(body).length;
      if (answers.length >= PIECE_ANSWERS || chars >= PIECE_CHARS) return { answers, upTo: Number(id) };
    }
    return { answers, upTo };
  }

  /** This run's answers up to that number are in the shared ledger, in these segments if it has any. */
  published(upTo: number, segments: ReadonlyMap<string, number>): void {
    this.ledger.transact((db) => {
      db.prepare('INSERT INTO published VALUES (?, ?, 0) ON CONFLICT DO UPDATE SET up_to = max(up_to, excluded.up_to)').run(
        this.#options.run,
        upTo,
      );
      for (const [name, bytes] of segments) this.#keepSegment(db, name, bytes);
    });
  }

  /** This run's totals; the time of its latest answer, milliseconds since 1970. */
  totals(): SharedTotals {
    const { lookups, reused } = this.ledger.totals();
    return { lookups, reused, lastAt: this.#published().lastAt };
  }

  #published(): { upTo: number; lastAt: number } {
    const row = this.ledger.transact((db) => db.prepare('SELECT up_to, last_at FROM published WHERE run = ?').get(this.#options.run));
    return { upTo: Number(row?.['up_to'] ?? 0), lastAt: Number(row?.['last_at'] ?? 0) };
  }

  #keepSegment(db: DatabaseSync, name: string, bytes: number): void {
    db.prepare('INSERT INTO segments VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes').run(name, bytes);
  }

  #raise(db: DatabaseSync, { lookups, reused, lastAt }: SharedTotals): void {
    const { run } = this.#options;
    db.prepare('UPDATE runs SET lookups = max(lookups, ?), reused = max(reused, ?) WHERE run = ?').run(lookups, reused, run);
    db.prepare('INSERT INTO published VALUES (?, 0, ?) ON CONFLICT DO UPDATE SET last_at = max(last_at, excluded.last_at)').run(
      run,
      lastAt,
    );
  }

  /** Whether the shared ledger still has all answers of this file. */
  #fits({ mark, segments }: LedgerSource): boolean {
    const made = this.ledger.transact((db) => db.prepare('SELECT mark FROM source').get()?.['mark']);
    if (made === undefined) return false;
    return made === mark && [...this.segments()].every(([name, bytes]) => (segments.get(name) ?? -1) >= bytes);
  }
}

/** Empties the file without leaving a trace. @throws StorageError, or MillraceError 75 when another process keeps it locked */
function empty(path: string): void {
  const db = new DatabaseSync(path);
  try {
    db.exec(EMPTY);
  } catch (error) {
    throw ledgerFailure(path, error);
  } finally {
    db.close();
  }
}

function openWhole(options: LedgerOptions): Ledger {
  try {
    return Ledger.open(options);
  } catch (error) {
    if (!isLedgerDamage(error)) throw error;
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${options.path}${suffix}`, { force: true });
    return Ledger.open(options);
  }
}
