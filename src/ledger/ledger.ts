import { openSync, closeSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { isBusy } from '../sqlite/busy.ts';
import { transaction } from '../sqlite/transaction.ts';
import { makeFolders } from '../storage/make-folders.ts';
import { AnswerRows } from './answer-rows.ts';
import { encode, type LedgerAnswer } from './answer.ts';
import { ledgerFailure } from './failure.ts';
import { keyHash } from './key-hash.ts';
import { KnownKeys } from './known-keys.ts';
import { LookupCounts, type Lookups } from './lookup-counts.ts';
import type { LedgerEntry, LedgerOptions, NewRow, SharedAnswer } from './options.ts';
import { forgetOldRuns, OwnRun } from './own-run.ts';
import { PLACE_AT, Places } from './places.ts';
import { RunRows } from './run-rows.ts';
import { BUSY_MS, checkLedger, prepareLedger } from './schema.ts';
import { makeScope, scopeNumber, ScopeRows } from './scope-rows.ts';
import { UsedAnswers } from './used-answers.ts';
import { WaitingAnswers, type Given } from './waiting-answers.ts';
import { checkWhole } from './whole-file.ts';

export type { LedgerAnswer } from './answer.ts';
export type { LedgerEntry, LedgerOptions } from './options.ts';

/**
 * Answers already paid for, on disk: constant memory, safe for several jobs at once (SQLite in WAL mode), and every
 * answer of one request becomes durable together or not at all, so that a resumed job fills the same batches again.
 * `put` is buffered; what is not flushed yet is already found by `get`.
 */
export class Ledger {
  readonly #db: DatabaseSync;
  readonly #options: LedgerOptions;
  readonly #runId: number;
  readonly #failedUpTo: number;
  readonly #answers: AnswerRows;
  readonly #insert: StatementSync;
  readonly #runs: RunRows;
  readonly #own: OwnRun;
  readonly #version: StatementSync;
  readonly #places: Places;
  readonly #used = new UsedAnswers();
  /** Null when only `has` is wanted: keys that few are asked for are not worth a filter. */
  readonly #known: KnownKeys | null;
  readonly #waiting = new WaitingAnswers();
  readonly counts = new LookupCounts();
  /** `PRAGMA data_version` (it changes when others write) as it was when their answers were last read. */
  #othersVersion: number;
  /** Answers were published and not flushed to the disk: they outlive this process, not the machine. */
  #unsynced = false;
  /** Told the hash of each answer that another process has written. */
  #onOthers: (hash: number) => void = () => undefined;

  private constructor(db: DatabaseSync, options: LedgerOptions) {
    this.#db = db;
    this.#options = options;
    this.#failedUpTo = options.failedUpTo ?? 0;
    this.#runs = new RunRows(db);
    if (options.peek !== true) {
      this.#write(() => {
        this.#runs.idOf(options.job, options.run);
        forgetOldRuns(db, options);
      });
    }
    this.#runId = this.#runs.find(options.run);
    this.#insert = db.prepare('INSERT INTO answers (scope, key, run, at, kind, body) VALUES (?, ?, ?, ?, ?, ?)');
    this.#version = db.prepare('PRAGMA data_version');
    this.#version.setReturnArrays(true);
    this.#own = new OwnRun(db, this.#runId, options.shared === true);
    this.#own.load(this.#used);
    [this.#othersVersion] = this.#version.get() as unknown as [number];
    this.#known = options.peek === true ? null : new KnownKeys(db);
    this.#places = new Places(db, options.placeAt ?? PLACE_AT, (hash) => {
      this.#known?.add(hash);
      this.#onOthers(hash);
    });
    this.#answers = new AnswerRows(db, this.#places, this.#used, options, this.#runId);
    this.#known?.readFirst();
  }

  /** @throws ConfigError when the file is no ledger, StorageError when the disk refuses. */
  static open(options: LedgerOptions): Ledger {
    let db: DatabaseSync | undefined;
    try {
      if (options.peek !== true) {
        makeFolders(dirname(options.path));
        closeSync(openSync(options.path, 'a', 0o600));
      }
      checkWhole(options.path);
      // Not opened read-only to peek either: such a connection leaves SQLite's side files behind.
      db = new DatabaseSync(options.path);
      if (options.peek === true) checkLedger(db);
      else prepareLedger(db);
      return new Ledger(db, options);
    } catch (error) {
      db?.close();
      throw ledgerFailure(options.path, error);
    }
  }

  /** A number for (origin, step, options): the part of an entry's key that a whole job shares. */
  scope(origin: string, step: string, options: string): number {
    return this.#guard(() => (this.#options.peek === true ? scopeNumber(this.#db, origin, step, options) : this.#write(() => makeScope(this.#db, origin, step, options))));
  }

  /** The answer kept for a key, if this run may use it. */
  get(scope: number, key: string): LedgerAnswer | null {
    const waiting = this.#waiting.get(scope, key);
    if (waiting !== null) return waiting;
    return this.#guard(() => {
      // A ledger of its own has no other writers; one that is shared may have been written to a moment ago.
      if (this.#options.readsOthers !== 'when told' && (this.#options.maxAgeDays > 0 || this.#options.shared === true)) this.#readOthers();
      const hash = keyHash(scope, key);
      if (this.#known?.isAbsent(hash) === true) return null;
      const found = this.#answers.find(scope, key, hash);
      if (found === null) return null;
      if (!found.counted) {
        this.#used.add(found.id);
        this.#countLookup(scope, key);
        this.counts.reuse();
      }
      return found.answer;
    });
  }

  /** The number of the latest answer, of whichever run; 0: there is none. */
  lastAnswer(): number {
    return this.#guard(() => Number(this.#db.prepare('SELECT max(id) AS id FROM answers').get()?.['id'] ?? 0));
  }

  /** What `get` would find; changes nothing. For `plan`. */
  look(scope: number, key: string): LedgerAnswer | null {
    return this.#waiting.get(scope, key) ?? this.#guard(() => this.#answers.find(scope, key, keyHash(scope, key)))?.answer ?? null;
  }

  /** Keeps the answers of one request: all become durable together. */
  put(entries: readonly LedgerEntry[]): void {
    for (const entry of entries) this.#add(entry, null);
    if (this.#waiting.isFull) this.flush();
  }

  /** Keeps an answer that a shared ledger has told, and counts it as used by this run unless it is its own. */
  adopt(entry: LedgerEntry, given: Given): void {
    this.#add(entry, given);
    if (given.run !== this.#options.run) this.counts.reuse();
    if (this.#waiting.isFull) this.flush();
  }

  /** Makes everything put so far durable. @throws StorageError */
  flush(): void {
    if (this.#waiting.isEmpty && this.#used.changed().length === 0 && !this.#unsynced) return;
    this.#writeAll();
    this.#unsynced = false;
  }

  /**
   * Shows other processes the answers put so far, without a flush of the disk: a killed process loses none of them, a power cut may.
   * Returns false, and writes nothing, while another process is writing. @throws StorageError
   */
  publish(): boolean {
    if (this.#waiting.isEmpty) return true;
    this.#db.exec('PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 0');
    try {
      this.#unsynced = true;
      this.#writeAll();
      return true;
    } catch (error) {
      if (error instanceof Error && isBusy(error.cause)) return false;
      throw error;
    } finally {
      this.#db.exec(`PRAGMA synchronous = FULL; PRAGMA busy_timeout = ${BUSY_MS}`);
    }
  }

  /** Takes note of what other processes have written, and does the reading that goes with it: all sees one state of the file. */
  readOthers<T>(work: () => T): T {
    return this.#guard(() => {
      // Outside of a transaction each read would begin with an empty cache once another process has written.
      this.#db.exec('BEGIN');
      try {
        this.#readOthers();
        return work();
      } finally {
        this.#db.exec('COMMIT');
      }
    });
  }

  /** @param onOthers told the hash of each answer that another process has written, as soon as it is read */
  watchOthers(onOthers: (hash: number) => void): void {
    this.#onOthers = onOthers;
  }

  #writeAll(): void {
    // SQLite flushes nothing, and so not what was published before either, where no page changes: the run's row always does.
    this.#insertAll(this.#waitingRows(), () => this.#own.keep(this.#used, this.counts));
    this.#used.kept();
    this.#waiting.clear();
    this.counts.written();
  }

  /** Takes answers as other ledgers have them, durable together with what `alongside` writes; nothing is counted. @throws StorageError */
  take(answers: readonly SharedAnswer[], alongside: (db: DatabaseSync) => void): void {
    const scopes = new ScopeRows(this.#db);
    const runs = this.#runs;
    function* rows(): Generator<NewRow, void, void> {
      for (const { scope: named, key, job, run, at, answer } of answers) {
        const scope = scopes.idOf(named);
        yield { scope, key, hash: keyHash(scope, key), run: runs.idOf(job, run), at, answer, counts: false };
      }
    }
    for (const hash of this.#insertAll(rows(), () => alongside(this.#db))) this.#known?.add(hash);
  }

  /** Reads and writes of whoever keeps more in this file, in one transaction. @throws StorageError */
  transact<T>(work: (db: DatabaseSync) => T): T {
    return this.#guard(() => this.#write(() => work(this.#db)));
  }

  /** Distinct lookups of this run over all its resumes, and how many of them an earlier run had paid for. */
  totals(): Lookups {
    return this.counts.beside(this.#guard(() => this.#own.counted()));
  }

  /** Flushes and closes. */
  close(): void {
    try {
      this.flush();
    } finally {
      this.#db.close();
    }
  }

  #add({ scope, key, answer, again }: LedgerEntry, given: Given | null): void {
    const hash = keyHash(scope, key);
    this.#waiting.add(scope, key, { answer, hash, given });
    this.#known?.add(hash);
    if (again !== true && given?.run !== this.#options.run) this.#countLookup(scope, key);
  }

  *#waitingRows(): Generator<NewRow, void, void> {
    // What a retry is told is younger than what it asks again for, whatever became of the clock.
    const now = this.#options.failedBy === 'time' ? Math.max(this.#options.now(), this.#failedUpTo + 1) : this.#options.now();
    for (const [scope, key, { answer, hash, given }] of this.#waiting.all()) {
      const run = given === null ? this.#runId : this.#runs.idOf(given.job, given.run);
      yield { scope, key, hash, run, at: given?.at ?? now, answer, counts: run !== this.#runId };
    }
  }

  /** One transaction of rows and what belongs to them. Returns their hashes. */
  #insertAll(rows: Iterable<NewRow>, also: () => void): readonly number[] {
    const added: { hash: number; id: number }[] = [];
    const placed = this.#guard(() =>
      this.#write(() => {
        this.#places.readLater();
        for (const { scope, key, hash, run, at, answer, counts } of rows) {
          const { kind, body } = encode(answer);
          const id = Number(this.#insert.run(scope, key, run, at, kind, body).lastInsertRowid);
          added.push({ hash, id });
          if (counts) this.#used.add(id);
        }
        also();
        return this.#places.place(added.length);
      }),
    );
    placed();
    this.#guard(() => this.#known?.readOn());
    for (const { hash, id } of added) this.#places.add(hash, id);
    return added.map(({ hash }) => hash);
  }

  /** What failed before and is asked again was counted then. */
  #countLookup(scope: number, key: string): void {
    if (this.#failedUpTo > 0 && this.hasFailed(scope, key)) return;
    this.counts.lookup();
  }

  /** Whether it knows of a failure that a retry asks again for. */
  hasFailed(scope: number, key: string): boolean {
    return this.#guard(() => this.#answers.hasFailed(scope, key));
  }

  #readOthers(): void {
    const [version] = this.#version.get() as unknown as [number];
    if (version === this.#othersVersion) return;
    this.#places.readLater();
    this.#othersVersion = version;
  }

  /** One transaction, while the job is this run's. */
  #write<T>(work: () => T): T {
    return transaction(this.#db, () => {
      this.#options.mayWrite?.();
      return work();
    });
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw ledgerFailure(this.#options.path, error);
    }
  }
}
