/** Job changes that imports have detected, stored until all subscribed webhooks have them. Writes need a transaction. */
import type { Store } from '../store.ts';

/** The type of the event. */
export const JOB_CHANGE = 'job.change';

/** A job title and its employer. */
export interface Job {
  readonly title: string | null;
  readonly company_name: string | null;
  readonly company_domain: string | null;
}

export interface JobChange {
  /** Its position among all changes. */
  readonly seq: number;
  /** The person's id. */
  readonly person: string;
  readonly from: Job;
  readonly to: Job;
  /** When it was detected, epoch milliseconds. */
  readonly atMs: number;
}

/** Bound of stored changes: beyond it, a service that was stopped misses the oldest. */
const MAX_ROWS = 100_000;
/** Retention for subscriptions whose key is revoked. */
const RETENTION_MS = 7 * 24 * 3_600_000;
/** Rows between two checks of the bound. */
const PRUNE_EVERY = 1_024;

export class JobChangeRows {
  readonly #statements;

  constructor(store: Store) {
    this.#statements = {
      received: store.books.prepare(
        `SELECT min(changes_seq) AS seq FROM webhooks WHERE enabled = 1 AND instr(events, '"${JOB_CHANGE}"') > 0`,
      ),
      add: store.prepare('INSERT INTO job_changes (person, doc, at) VALUES (?, ?, ?)'),
      following: store.prepare('SELECT seq, person, doc, at FROM job_changes WHERE seq > ? ORDER BY seq LIMIT ?'),
      any: store.prepare('SELECT 1 FROM job_changes LIMIT 1'),
      last: store.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'job_changes'"),
      dropUpTo: store.prepare('DELETE FROM job_changes WHERE seq <= ?'),
      prune: store.prepare('DELETE FROM job_changes WHERE (at < ? AND seq <= ?) OR seq <= ?'),
      forget: store.prepare('DELETE FROM job_changes WHERE person = ?'),
    };
  }

  /** Whether any webhook subscribes to job changes. */
  isWatched(): boolean {
    return this.#received() !== null;
  }

  add(person: string, from: Job, to: Job, nowMs: number): void {
    const { lastInsertRowid } = this.#statements.add.run(person, JSON.stringify({ from, to }), nowMs);
    if (Number(lastInsertRowid) % PRUNE_EVERY === 0) this.#statements.dropUpTo.run(Number(lastInsertRowid) - MAX_ROWS);
  }

  /** The next changes after a position. */
  following(seq: number, limit: number): JobChange[] {
    return this.#statements.following.all(seq, limit).map((row) => {
      const { from, to } = JSON.parse(row['doc'] as string) as Pick<JobChange, 'from' | 'to'>;
      return { seq: row['seq'] as number, person: row['person'] as string, from, to, atMs: row['at'] as number };
    });
  }

  /** The position of the last change ever stored; 0 if none. */
  last(): number {
    return Number(this.#statements.last.get()?.['seq'] ?? 0);
  }

  isAny(): boolean {
    return this.#statements.any.get() !== undefined;
  }

  /**
   * Drops changes that all subscriptions have received, and old ones up to `deliveredUpTo`.
   * Undelivered ones are not dropped by age, because the clock may be wrong.
   */
  prune(nowMs: number, deliveredUpTo: number): void {
    this.#statements.prune.run(nowMs - RETENTION_MS, deliveredUpTo, this.#received() ?? this.last());
  }

  forget(person: string): void {
    this.#statements.forget.run(person);
  }

  /** The position up to which all subscriptions have the changes; null without a subscription. */
  #received(): number | null {
    return (this.#statements.received.get()?.['seq'] ?? null) as number | null;
  }
}
