import { mkdirSync, openSync, closeSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { ConfigError, MillraceError, StorageError } from '../errors.ts';
import { AbsenceFilter } from './absence-filter.ts';
import { prepareLedger } from './schema.ts';

/** What is known of one lookup. `text` is the answer's own JSON. */
export type LedgerAnswer =
  | { readonly kind: 'hit'; readonly text: string }
  | { readonly kind: 'miss' }
  | { readonly kind: 'suppressed' }
  /** A verdict that says nothing (`unknown`): good for this run, asked again by later ones. */
  | { readonly kind: 'unsettled'; readonly text: string }
  | { readonly kind: 'failed'; readonly code: string; readonly attempts: number; readonly requestId: string | null };

export interface LedgerEntry {
  /** From `Ledger.scope`. */
  readonly scope: number;
  readonly key: string;
  readonly answer: LedgerAnswer;
}

export interface LedgerOptions {
  readonly path: string;
  readonly job: string;
  /** Identifies the run over all its resumes; a new one for each `--fresh`. */
  readonly run: string;
  /** Answers of other jobs up to this age are good too; 0: only this job's own, of any age. */
  readonly maxAgeDays: number;
  readonly now: () => number;
  /** Only `has` and `scope` are wanted: nothing is written. The file must exist. */
  readonly peek?: boolean;
}

const KINDS = ['hit', 'miss', 'suppressed', 'unsettled', 'failed'] as const;
const DAY_MS = 86_400_000;
/** A flush in mid-interval keeps one transaction short enough (about 10 ms) not to stall the calls in flight. */
const FLUSH_AT_ENTRIES = 2_000;
const FLUSH_AT_CHARS = 8 * 1024 * 1024;
/** A ledger of up to this many answers is read into the filter when it is opened (about 0.2 s); of a larger one every key is looked up. */
const FILTER_UP_TO = 250_000;

interface Waiting { readonly answer: LedgerAnswer; readonly reusedAt: number | null }

/**
 * Answers already paid for, on disk: constant memory, safe for several jobs at once (SQLite in WAL mode), and every
 * answer of one request becomes durable together or not at all, so that a resumed job fills the same batches again.
 * `put` is buffered; what is not flushed yet is already found by `get`.
 */
export class Ledger {
  readonly #db: DatabaseSync;
  readonly #options: LedgerOptions;
  readonly #runId: number;
  readonly #select: StatementSync;
  readonly #upsert: StatementSync;
  readonly #count: StatementSync;
  /** Only for a ledger that this job alone writes to: what another one adds would be missed. */
  readonly #filter: AbsenceFilter | null;
  /** By scope, then by key. */
  #waiting = new Map<number, Map<string, Waiting>>();
  #waitingEntries = 0;
  #waitingChars = 0;
  #lookups = 0;
  #reused = 0;

  private constructor(db: DatabaseSync, options: LedgerOptions) {
    this.#db = db;
    this.#options = options;
    if (options.peek !== true) db.prepare('INSERT OR IGNORE INTO runs (job, run) VALUES (?, ?)').run(options.job, options.run);
    this.#runId = Number(db.prepare('SELECT id FROM runs WHERE run = ?').get(options.run)?.['id'] ?? -1);
    this.#select = db.prepare('SELECT a.run AS run, a.at AS at, a.kind AS kind, a.body AS body, r.job AS job FROM answers a JOIN runs r ON r.id = a.run WHERE a.key = ? AND a.scope = ?');
    this.#select.setReturnArrays(true);
    this.#upsert = db.prepare(
      `INSERT INTO answers (scope, key, run, at, kind, body) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (key, scope) DO UPDATE SET run = excluded.run, at = excluded.at, kind = excluded.kind, body = excluded.body`,
    );
    this.#filter = options.maxAgeDays === 0 && options.peek !== true ? loadFilter(db) : null;
    this.#count = db.prepare('UPDATE runs SET lookups = lookups + ?, reused = reused + ? WHERE id = ?');
  }

  /** @throws ConfigError when the file is no ledger, StorageError when the disk refuses. */
  static open(options: LedgerOptions): Ledger {
    let db: DatabaseSync | undefined;
    try {
      if (options.peek !== true) {
        mkdirSync(dirname(options.path), { recursive: true });
        closeSync(openSync(options.path, 'a', 0o600));
      }
      db = new DatabaseSync(options.path);
      prepareLedger(db);
      return new Ledger(db, options);
    } catch (error) {
      db?.close();
      throw ledgerFailure(options.path, error);
    }
  }

  /** A number for (origin, step, options): the part of an entry's key that a whole job shares. */
  scope(origin: string, step: string, options: string): number {
    return this.#guard(() => {
      if (this.#options.peek !== true) this.#db.prepare('INSERT OR IGNORE INTO scopes (origin, step, options) VALUES (?, ?, ?)').run(origin, step, options);
      return Number(this.#db.prepare('SELECT id FROM scopes WHERE origin = ? AND step = ? AND options = ?').get(origin, step, options)?.['id'] ?? -1);
    });
  }

  /** The answer kept for a key, if this run may use it. */
  get(scope: number, key: string): LedgerAnswer | null {
    const waiting = this.#waiting.get(scope)?.get(key);
    if (waiting !== undefined) return waiting.answer;
    if (this.#filter?.isAbsent(scope, key) === true) return null;
    const row = this.#guard(() => this.#select.get(key, scope)) as unknown as [number, number, number, string, string] | undefined;
    if (row === undefined) return null;
    const [run, at, kind, body, job] = row;
    const answer = decode(kind, body);
    if (run === this.#runId) return answer;
    if (!this.#maySpare(answer, at, job)) return null;
    // Taken over into this run, so that it counts once and does not age while the run goes on.
    this.#add({ scope, key, answer }, at);
    return answer;
  }

  /** Whether `get` would find it; changes nothing. For `plan`. */
  has(scope: number, key: string): boolean {
    const row = this.#guard(() => this.#select.get(key, scope)) as unknown as [number, number, number, string, string] | undefined;
    return row !== undefined && (row[0] === this.#runId || this.#maySpare(decode(row[2], row[3]), row[1], row[4]));
  }

  /** Keeps the answers of one request: all become durable together. */
  put(entries: readonly LedgerEntry[]): void {
    for (const entry of entries) this.#add(entry, null);
    if (this.#waitingEntries >= FLUSH_AT_ENTRIES || this.#waitingChars >= FLUSH_AT_CHARS) this.flush();
  }

  /** Makes everything put so far durable. @throws StorageError */
  flush(): void {
    if (this.#waitingEntries === 0) return;
    const now = this.#options.now();
    this.#guard(() => {
      this.#db.exec('BEGIN IMMEDIATE');
      try {
        for (const [scope, answers] of this.#waiting) {
          for (const [key, { answer, reusedAt }] of answers) this.#upsert.run(scope, key, this.#runId, reusedAt ?? now, KINDS.indexOf(answer.kind), encode(answer));
        }
        this.#count.run(this.#lookups, this.#reused, this.#runId);
        this.#db.exec('COMMIT');
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
        throw error;
      }
    });
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

  #add({ scope, key, answer }: LedgerEntry, reusedAt: number | null): void {
    let answers = this.#waiting.get(scope);
    if (answers === undefined) this.#waiting.set(scope, (answers = new Map()));
    answers.set(key, { answer, reusedAt });
    this.#waitingEntries++;
    this.#filter?.add(scope, key);
    this.#waitingChars += key.length + ('text' in answer ? answer.text.length : 16);
    this.#lookups++;
    if (reusedAt !== null) this.#reused++;
  }

  #maySpare(answer: LedgerAnswer, at: number, job: string): boolean {
    if (answer.kind === 'failed' || answer.kind === 'unsettled') return false;
    const { maxAgeDays } = this.#options;
    return maxAgeDays > 0 ? at >= this.#options.now() - maxAgeDays * DAY_MS : job === this.#options.job;
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw ledgerFailure(this.#options.path, error);
    }
  }
}

/** Null when there is too much to load. */
function loadFilter(db: DatabaseSync): AbsenceFilter | null {
  if (Number(db.prepare('SELECT max(id) AS n FROM answers').get()?.['n'] ?? 0) > FILTER_UP_TO) return null;
  const filter = new AbsenceFilter();
  for (const row of db.prepare('SELECT scope, key FROM answers').iterate()) filter.add(Number(row['scope']), String(row['key']));
  return filter;
}

function encode(answer: LedgerAnswer): string {
  if (answer.kind === 'hit' || answer.kind === 'unsettled') return answer.text;
  return answer.kind === 'failed' ? JSON.stringify([answer.code, answer.attempts, answer.requestId]) : '';
}

function decode(kind: number, body: string): LedgerAnswer {
  const name = KINDS[kind];
  switch (name) {
    case 'hit':
    case 'unsettled':
      return { kind: name, text: body };
    case 'miss':
    case 'suppressed':
      return { kind: name };
    case 'failed': {
      const [code, attempts, requestId] = JSON.parse(body) as [string, number, string | null];
      return { kind: 'failed', code, attempts, requestId };
    }
    default:
      throw new Error(`unknown kind of answer ${kind}`);
  }
}

/** SQLite result codes (sqlite.org/rescode.html) that speak of the file's content rather than of the disk. */
const NOT_A_LEDGER = new Set([11, 26]);

function ledgerFailure(path: string, error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const resultCode = Number((error as { errcode?: unknown }).errcode ?? 0) & 0xff;
  const systemCode = (error as { code?: unknown }).code;
  if (NOT_A_LEDGER.has(resultCode) || message.startsWith('it ')) {
    return new ConfigError('ledger_unreadable', `the ledger ${path} cannot be used: ${message}`, { hint: 'Move it away, or name another file with --ledger.', cause: error });
  }
  if (resultCode === 0 && typeof systemCode !== 'string') throw error;
  return new StorageError('ledger_failed', `the ledger ${path} could not be read or written: ${message}`, { hint: 'Free the disk or mend the folder, then run the same command: the job resumes.', cause: error });
}
