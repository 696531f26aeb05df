import { mkdirSync, openSync, closeSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { decode, encode, type LedgerAnswer } from './answer.ts';
import { ledgerFailure } from './failure.ts';
import { keyHash } from './key-hash.ts';
import { KnownKeys } from './known-keys.ts';
import { PLACE_AT, Places } from './places.ts';
import { DAY_MS, isReusable } from './reuse.ts';
import { checkLedger, prepareLedger } from './schema.ts';
import { UsedAnswers } from './used-answers.ts';
import { checkWhole } from './whole-file.ts';

export type { LedgerAnswer } from './answer.ts';

export interface LedgerEntry {
  /** From `Ledger.scope`. */
  readonly scope: number;
  readonly key: string;
  readonly answer: LedgerAnswer;
  /** It was kept before in this run, with an answer that was not final: no lookup more. */
  readonly again?: boolean;
}

export interface LedgerOptions {
  readonly path: string;
  readonly job: string;
  /** Identifies the run over all its resumes; a new one for each `--fresh`. */
  readonly run: string;
  /** Answers of other jobs up to this age are good too; 0: only this job's own, of any age. */
  readonly maxAgeDays: number;
  readonly now: () => number;
  /** `retry`: this run's failures up to that answer (see `lastAnswer`) are asked again; 0: none. */
  readonly failedUpTo?: number;
  /** Only `look`, `lastAnswer`, `totals` and `scope` are wanted: nothing is written. The file must exist. */
  readonly peek?: boolean;
  /** Asked within each write transaction: throws when the job is another run's by now. One that comes later waits for the transaction. */
  readonly mayWrite?: () => void;
  /** Answers that go into the index together; fewer than usual for tests. */
  readonly placeAt?: number;
}

/** A flush in mid-interval keeps one transaction short enough (about 20 ms) not to stall the calls in flight. */
const FLUSH_AT_ENTRIES = 2_000;
const FLUSH_AT_CHARS = 8 * 1024 * 1024;

/** Runs of a job, besides the present one, whose use of other runs' answers is kept: more have begun since than anybody resumes. */
const RUNS_REMEMBERED = 32;

interface Waiting { readonly answer: LedgerAnswer; readonly hash: number }

/** A row of `answers`, and the job it was asked for. */
type Row = readonly [run: number, at: number, kind: number, body: string, job: string, scope: number, key: string];

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
  readonly #read: StatementSync;
  readonly #insert: StatementSync;
  readonly #keepUsed: StatementSync;
  readonly #count: StatementSync;
  readonly #version: StatementSync;
  readonly #places: Places;
  readonly #used = new UsedAnswers();
  /** Null when only `has` is wanted: keys that few are asked for are not worth a filter. */
  readonly #known: KnownKeys | null;
  /** By scope, then by key. */
  #waiting = new Map<number, Map<string, Waiting>>();
  #waitingEntries = 0;
  #waitingChars = 0;
  #lookups = 0;
  #reused = 0;
  /** `PRAGMA data_version` (it changes when others write) as it was when their answers were last read. */
  #othersVersion: number;

  private constructor(db: DatabaseSync, options: LedgerOptions) {
    this.#db = db;
    this.#options = options;
    this.#failedUpTo = options.failedUpTo ?? 0;
    if (options.peek !== true) {
      this.#write(() => {
        db.prepare('INSERT OR IGNORE INTO runs (job, run) VALUES (?, ?)').run(options.job, options.run);
        // One job may have several runs that are not over, with `{date}` in its output: what they have used stays theirs.
        db.prepare('DELETE FROM used WHERE run IN (SELECT id FROM runs WHERE job = ? AND run <> ? ORDER BY id DESC LIMIT -1 OFFSET ?)').run(options.job, options.run, RUNS_REMEMBERED);
      });
    }
    this.#runId = Number(db.prepare('SELECT id FROM runs WHERE run = ?').get(options.run)?.['id'] ?? -1);
    this.#read = db.prepare('SELECT a.run, a.at, a.kind, a.body, r.job, a.scope, a.key FROM answers a JOIN runs r ON r.id = a.run WHERE a.id = ?');
    this.#read.setReturnArrays(true);
    this.#insert = db.prepare('INSERT INTO answers (scope, key, run, at, kind, body) VALUES (?, ?, ?, ?, ?, ?)');
    this.#keepUsed = db.prepare('INSERT INTO used (run, block, bits) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET bits = excluded.bits');
    this.#count = db.prepare('UPDATE runs SET lookups = lookups + ?, reused = reused + ? WHERE id = ?');
    this.#version = db.prepare('PRAGMA data_version');
    this.#version.setReturnArrays(true);
    for (const { block, bits } of db.prepare('SELECT block, bits FROM used WHERE run = ?').iterate(this.#runId)) this.#used.load(Number(block), bits as Uint8Array);
    this.#othersVersion = this.#dataVersion();
    this.#known = options.peek === true ? null : new KnownKeys(db);
    this.#places = new Places(db, options.placeAt ?? PLACE_AT, (hash) => this.#known?.add(hash));
    this.#known?.readFirst();
  }

  /** @throws ConfigError when the file is no ledger, StorageError when the disk refuses. */
  static open(options: LedgerOptions): Ledger {
    let db: DatabaseSync | undefined;
    try {
      if (options.peek !== true) {
        mkdirSync(dirname(options.path), { recursive: true });
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
    return this.#guard(() => {
      if (this.#options.peek !== true) this.#write(() => this.#db.prepare('INSERT OR IGNORE INTO scopes (origin, step, options) VALUES (?, ?, ?)').run(origin, step, options));
      return Number(this.#db.prepare('SELECT id FROM scopes WHERE origin = ? AND step = ? AND options = ?').get(origin, step, options)?.['id'] ?? -1);
    });
  }

  /** The answer kept for a key, if this run may use it. */
  get(scope: number, key: string): LedgerAnswer | null {
    const waiting = this.#waiting.get(scope)?.get(key);
    if (waiting !== undefined) return waiting.answer;
    return this.#guard(() => {
      // A ledger of its own has no other writers; one that is shared may have been written to a moment ago.
      if (this.#options.maxAgeDays > 0) this.#readOthers();
      const hash = keyHash(scope, key);
      if (this.#known?.isAbsent(hash) === true) return null;
      const found = this.#find(scope, key, hash);
      if (found === null) return null;
      if (!found.counted) {
        this.#used.add(found.id);
        this.#countLookup(scope, key);
        this.#reused++;
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
    return this.#waiting.get(scope)?.get(key)?.answer ?? this.#guard(() => this.#find(scope, key, keyHash(scope, key)))?.answer ?? null;
  }

  /** Keeps the answers of one request: all become durable together. */
  put(entries: readonly LedgerEntry[]): void {
    for (const entry of entries) this.#add(entry);
    if (this.#waitingEntries >= FLUSH_AT_ENTRIES || this.#waitingChars >= FLUSH_AT_CHARS) this.flush();
  }

  /** Makes everything put so far durable. @throws StorageError */
  flush(): void {
    const used = this.#used.changed();
    if (this.#waitingEntries === 0 && used.length === 0) return;
    const now = this.#options.now();
    const added: { hash: number; id: number }[] = [];
    const placed = this.#guard(() =>
      this.#write(() => {
        this.#places.readLater();
        for (const [scope, answers] of this.#waiting) {
          for (const [key, { answer, hash }] of answers) {
            const { kind, body } = encode(answer);
            added.push({ hash, id: Number(this.#insert.run(scope, key, this.#runId, now, kind, body).lastInsertRowid) });
          }
        }
        for (const [block, bits] of used) this.#keepUsed.run(this.#runId, block, bits);
        this.#count.run(this.#lookups, this.#reused, this.#runId);
        return this.#places.place(added.length);
      }),
    );
    placed();
    this.#guard(() => this.#known?.readOn());
    for (const { hash, id } of added) this.#places.add(hash, id);
    this.#used.kept();
    this.#waiting = new Map();
    this.#waitingEntries = 0;
    this.#waitingChars = 0;
    this.#lookups = 0;
    this.#reused = 0;
  }

  /** Distinct lookups of this run over all its resumes, and how many of them an earlier run had paid for. */
  totals(): { lookups: number; reused: number } {
    const row = this.#guard(() => this.#db.prepare('SELECT lookups, reused FROM runs WHERE id = ?').get(this.#runId));
    return { lookups: Number(row?.['lookups'] ?? 0) + this.#lookups, reused: Number(row?.['reused'] ?? 0) + this.#reused };
  }

  /** Flushes and closes. */
  close(): void {
    try {
      this.flush();
    } finally {
      this.#db.close();
    }
  }

  #add({ scope, key, answer, again }: LedgerEntry): void {
    let answers = this.#waiting.get(scope);
    if (answers === undefined) this.#waiting.set(scope, (answers = new Map()));
    const hash = keyHash(scope, key);
    answers.set(key, { answer, hash });
    this.#waitingEntries++;
    this.#known?.add(hash);
    this.#waitingChars += key.length + ('text' in answer ? answer.text.length : 16);
    if (again !== true) this.#countLookup(scope, key);
  }

  /** The newest answer that this run may use. `counted`: it is one of its lookups already. */
  #find(scope: number, key: string, hash: number): { id: number; answer: LedgerAnswer; counted: boolean } | null {
    for (const id of this.#places.idsOf(hash)) {
      const row = this.#read.get(id) as unknown as Row | undefined;
      if (row === undefined || row[5] !== scope || row[6] !== key) continue;
      const [run, at, kind, body, job] = row;
      const answer = decode(kind, body);
      const counted = run === this.#runId || this.#used.has(id);
      if (counted && answer.kind === 'failed' && id <= this.#failedUpTo) continue;
      if (counted || this.#maySpare(answer, at, job)) return { id, answer, counted };
    }
    return null;
  }

  /** What failed before and is asked again was counted then. */
  #countLookup(scope: number, key: string): void {
    if (this.#failedUpTo > 0 && this.#guard(() => this.#hasFailed(scope, key))) return;
    this.#lookups++;
  }

  #hasFailed(scope: number, key: string): boolean {
    for (const id of this.#places.idsOf(keyHash(scope, key))) {
      const row = id <= this.#failedUpTo ? (this.#read.get(id) as unknown as Row | undefined) : undefined;
      if (row !== undefined && row[5] === scope && row[6] === key && row[0] === this.#runId && decode(row[2], row[3]).kind === 'failed') return true;
    }
    return false;
  }

  #readOthers(): void {
    const version = this.#dataVersion();
    if (version === this.#othersVersion) return;
    this.#places.readLater();
    this.#othersVersion = version;
  }

  #dataVersion(): number {
    return (this.#version.get() as unknown as [number])[0];
  }

  #maySpare(answer: LedgerAnswer, at: number, job: string): boolean {
    if (!isReusable(answer.kind)) return false;
    const { maxAgeDays } = this.#options;
    return maxAgeDays > 0 ? at >= this.#options.now() - maxAgeDays * DAY_MS : job === this.#options.job;
  }

  /** One transaction: all of it or nothing. */
  #write<T>(work: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      this.#options.mayWrite?.();
      const done = work();
      this.#db.exec('COMMIT');
      return done;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw ledgerFailure(this.#options.path, error);
    }
  }
}
