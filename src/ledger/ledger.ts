import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { answersAhead, dateAt, type AnswersAhead } from './answers-ahead.ts';
import { AnswerInserts } from './answer-inserts.ts';
import { LedgerAnswerRows } from './answer-rows.ts';
import { isFit, type LedgerAnswer } from './answer.ts';
import { lookupHash } from './key-hash.ts';
import { KnownKeys } from './known-keys.ts';
import { LookupCounts, type Lookups } from './lookup-counts.ts';
import { LedgerFile } from './ledger-file.ts';
import type { LedgerEntry, LedgerOptions, NewAnswerRow, SharedAnswer } from './options.ts';
import { forgetOldRuns, OwnRun } from './own-run.ts';
import { INDEX_BATCH, AnswerIndex } from './answer-index.ts';
import { RunRows } from './run-rows.ts';
import { hasScopesOf, makeScope, scopeNumber, ScopeRows } from './scope-rows.ts';
import { UsedAnswers } from './used-answers.ts';
import { WaitingAnswers, type AnswerOrigin } from './waiting-answers.ts';

export type { LedgerAnswer } from './answer.ts';
export type { LedgerEntry, LedgerOptions } from './options.ts';

/**
 * The answers already paid for, on disk: constant memory, safe for several jobs at once (SQLite in WAL mode). All answers of one request
 * become durable together, so that a resumed job fills the same batches again. `put` is buffered; `get` finds buffered answers too.
 */
export class Ledger {
  readonly #file: LedgerFile;
  readonly #options: LedgerOptions;
  readonly #runId: number;
  readonly #failedUpTo: number;
  readonly #answers: LedgerAnswerRows;
  readonly #inserts: AnswerInserts;
  readonly #runs: RunRows;
  readonly #own: OwnRun;
  readonly #version: StatementSync;
  readonly #index: AnswerIndex;
  readonly #used = new UsedAnswers();
  /** Null for a ledger that is only read: few lookups do not need a filter. */
  readonly #known: KnownKeys | null;
  readonly #waiting = new WaitingAnswers();
  readonly counts = new LookupCounts();
  /** `PRAGMA data_version` when the answers of other processes were last read. It changes when they write. */
  #othersVersion: number;
  /** Answers were published but not flushed to disk: they survive this process, but not a power cut. */
  #unsynced = false;
  /** Returns the spending of the run up to now. It is stored with the answers, so that a killed run knows what they cost. */
  spentNow: (() => string) | null = null;
  /** Called with the hash of each answer that another process has written. */
  #onOthers: (hash: number) => void = () => undefined;

  private constructor(file: LedgerFile, options: LedgerOptions) {
    const { db } = file;
    this.#file = file;
    this.#options = options;
    this.#failedUpTo = options.failedUpTo ?? 0;
    this.#runs = new RunRows(db);
    if (options.readOnly !== true) {
      file.write(() => {
        this.#runs.idOf(options.job, options.run);
        forgetOldRuns(db, options);
      });
    }
    this.#runId = this.#runs.find(options.run);
    this.#version = db.prepare('PRAGMA data_version');
    this.#version.setReturnArrays(true);
    this.#own = new OwnRun(db, this.#runId, options.shared === true);
    this.#own.load(this.#used);
    [this.#othersVersion] = this.#version.get() as unknown as [number];
    this.#known = options.readOnly === true ? null : new KnownKeys(db);
    this.#index = new AnswerIndex(db, options.indexBatch ?? INDEX_BATCH, (hash) => {
      this.#known?.add(hash);
      this.#onOthers(hash);
    });
    this.#inserts = new AnswerInserts(file, this.#index, this.#used, this.#known);
    this.#answers = new LedgerAnswerRows(db, this.#index, this.#used, options, this.#runId);
    this.#known?.readFirst();
  }

  /** @throws ConfigError when the file is not a ledger, StorageError when the disk fails */
  static open(options: LedgerOptions): Ledger {
    return LedgerFile.open(options, (file) => new Ledger(file, options));
  }

  /** A number for (origin, step, options): the part of an entry's key that a whole job shares. */
  scope(origin: string, step: string, options: string): number {
    return this.#file.guard(() =>
      this.#options.readOnly === true
        ? scopeNumber(this.#file.db, origin, step, options)
        : this.#file.write(() => makeScope(this.#file.db, origin, step, options)),
    );
  }

  hasScopesOf(origin: string): boolean {
    return this.#file.guard(() => hasScopesOf(this.#file.db, origin));
  }

  /** The stored answer to a key, if this run may use it. @param unfit see `RunLedger.ask`; the lookup was counted with that answer */
  get(scope: number, key: string, unfit: string | null = null): LedgerAnswer | null {
    const waiting = this.#waiting.get(scope, key);
    if (waiting !== null) return isFit(waiting, unfit) ? waiting : null;
    return this.#file.guard(() => {
      // A ledger of one job has no other writers. A shared one may have been written to a moment ago.
      if (this.#options.readsOthers !== 'on request' && (this.#options.maxAgeDays > 0 || this.#options.shared === true)) this.#readOthers();
      const hash = lookupHash(scope, key);
      if (this.#known?.isAbsent(hash) === true) return null;
      const found = this.#answers.find(scope, key, hash, unfit);
      if (found === null) return null;
      if (!found.counted) this.#used.add(found.id);
      if (!found.counted && unfit === null) {
        this.#countLookup(scope, key);
        this.counts.reuse();
      }
      return found.answer;
    });
  }

  /** The note with the ticket of an open promise, by which this run may ask for the answer that was paid for; null without one. */
  promised(scope: number, key: string): string | null {
    const hash = lookupHash(scope, key);
    if (this.#known?.isAbsent(hash) === true) return null;
    return this.#file.guard(() => this.#answers.promised(scope, key, hash));
  }

  /** The number of the latest answer of any run; 0 in an empty ledger. */
  lastAnswer(): number {
    return this.#file.guard(() => Number(this.#file.db.prepare('SELECT max(id) AS id FROM answers').get()?.['id'] ?? 0));
  }

  /** The last answers, where they are dated after that moment; null without any. */
  answersAhead(nowMs: number): AnswersAhead | null {
    return this.#file.guard(() => answersAhead(this.#file.db, nowMs));
  }

  /** Dates these answers at that moment, and returns their number. @throws StorageError */
  countAsWritten(ahead: AnswersAhead, nowMs: number): number {
    return this.transact((db) => dateAt(db, ahead, nowMs));
  }

  /** Finds the same answer as `get` without counting a lookup. For `plan`. */
  look(scope: number, key: string): LedgerAnswer | null {
    return this.#waiting.get(scope, key) ?? this.#file.guard(() => this.#answers.find(scope, key, lookupHash(scope, key)))?.answer ?? null;
  }

  /** Stores the answers of one request, which become durable together. */
  put(entries: readonly LedgerEntry[]): void {
    for (const entry of entries) this.#add(entry, null);
    if (this.#waiting.isFull) this.flush();
  }

  /** Stores an answer from a shared ledger, and counts it as used by this run unless it is the run's own, or the lookup was counted. */
  adopt(entry: LedgerEntry, given: AnswerOrigin): void {
    this.#add(entry, given);
    if (given.run !== this.#options.run && entry.again !== true) this.counts.reuse();
    if (this.#waiting.isFull) this.flush();
  }

  /** Makes everything put so far durable. @throws StorageError */
  flush(): void {
    if (this.#waiting.isEmpty && this.#used.changed().length === 0 && !this.#unsynced) return;
    this.#writeAll();
    this.#unsynced = false;
  }

  /**
   * Makes stored answers visible to other processes without flushing the disk: a kill loses none, a power cut may. Returns false, and
   * writes nothing, while another process is writing. @throws StorageError
   */
  publish(): boolean {
    if (this.#waiting.isEmpty) return true;
    this.#unsynced = true;
    return this.#file.writeUnsynced(() => this.#writeAll());
  }

  /** Reads the answers of other processes, then runs `work`: both see one state of the file. */
  readOthers<T>(work: () => T): T {
    return this.#file.guard(() =>
      this.#file.read(() => {
        this.#readOthers();
        return work();
      }),
    );
  }

  /** @param onOthers called with the hash of each answer of another process, as soon as it is read */
  watchOthers(onOthers: (hash: number) => void): void {
    this.#onOthers = onOthers;
  }

  #writeAll(): void {
    // SQLite flushes only if a page changes, and then flushes published answers too. The run's row always changes.
    this.#inserts.write(this.#waitingRows(), () => this.#own.keep(this.#used, this.counts, this.spentNow?.() ?? null));
    this.#used.kept();
    this.#waiting.clear();
    this.counts.written();
  }

  /** Stores answers of other ledgers, durable together with the writes of `alongside`. They are not counted. @throws StorageError */
  take(answers: readonly SharedAnswer[], alongside: (db: DatabaseSync) => void): void {
    const scopes = new ScopeRows(this.#file.db);
    const runs = this.#runs;
    function* rows(): Generator<NewAnswerRow, void, void> {
      for (const { scope: named, key, job, run, at, answer } of answers) {
        const scope = scopes.idOf(named);
        yield { scope, key, hash: lookupHash(scope, key), run: runs.idOf(job, run), at, answer, counts: false };
      }
    }
    for (const hash of this.#inserts.write(rows(), () => alongside(this.#file.db))) this.#known?.add(hash);
  }

  /** Runs other reads and writes on this file in one transaction. @throws StorageError */
  transact<T>(work: (db: DatabaseSync) => T): T {
    return this.#file.guard(() => this.#file.write(() => work(this.#file.db)));
  }

  /** Distinct lookups of this run over all its resumes, and how many of them an earlier run had paid for. */
  totals(): Lookups {
    return this.counts.beside(this.#file.guard(() => this.#own.counted()));
  }

  /** The spending of the run up to its last stored answers; empty when it is unknown. */
  get spent(): string {
    return this.#file.guard(() => this.#own.spent);
  }

  /** Flushes and closes. */
  close(): void {
    try {
      this.flush();
    } finally {
      this.#file.db.close();
    }
  }

  #add({ scope, key, answer, again }: LedgerEntry, given: AnswerOrigin | null): void {
    const hash = lookupHash(scope, key);
    this.#waiting.add(scope, key, { answer, hash, given });
    this.#known?.add(hash);
    if (again !== true && given?.run !== this.#options.run) this.#countLookup(scope, key);
  }

  *#waitingRows(): Generator<NewAnswerRow, void, void> {
    // Answers of a retry are younger than the failures that it asks again, even after a clock was set back.
    const now = this.#options.failedBy === 'time' ? Math.max(this.#options.now(), this.#failedUpTo + 1) : this.#options.now();
    for (const [scope, key, { answer, hash, given }] of this.#waiting.all()) {
      const run = given === null ? this.#runId : this.#runs.idOf(given.job, given.run);
      yield { scope, key, hash, run, at: given?.at ?? now, answer, counts: run !== this.#runId };
    }
  }

  /** A failure that is asked again was counted before. */
  #countLookup(scope: number, key: string): void {
    if (this.#failedUpTo > 0 && this.hasFailed(scope, key)) return;
    this.counts.lookup();
  }

  /** True when the key has a failure that a retry asks again. */
  hasFailed(scope: number, key: string): boolean {
    return this.#file.guard(() => this.#answers.hasFailed(scope, key));
  }

  #readOthers(): void {
    const [version] = this.#version.get() as unknown as [number];
    if (version === this.#othersVersion) return;
    this.#index.readNewer();
    this.#othersVersion = version;
  }
}
