/** Changes of jobs that an import has come by, kept until whoever subscribed was told of them. What is written is so within a transaction. */
import type { Store } from '../store/store.ts';
import { JOB_CHANGE } from './announcement.ts';

/** What somebody did, and where. */
export interface Job {
  readonly title: string | null;
  readonly company_name: string | null;
  readonly company_domain: string | null;
}

export interface JobChange {
  /** Its place among all. */
  readonly seq: number;
  /** Id of the person. */
  readonly person: string;
  readonly from: Job;
  readonly to: Job;
  /** When it was noticed, epoch milliseconds. */
  readonly atMs: number;
}

/** A service that is not running for longer misses some: the oldest. */
const MOST_KEPT = 100_000;
/** Where nobody is told of them but who has lost their key. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** Every so many, those that are too many are dropped. */
const PRUNE_EVERY = 1_024;

export class JobChangeRows {
  readonly #statements;

  constructor(store: Store) {
    const subscribed = `SELECT changes_seq FROM webhooks WHERE enabled = 1 AND instr(events, '"${JOB_CHANGE}"') > 0`;
    this.#statements = {
      isWatched: store.prepare(`${subscribed} LIMIT 1`),
      add: store.prepare('INSERT INTO job_changes (person, doc, at) VALUES (?, ?, ?)'),
      following: store.prepare('SELECT seq, person, doc, at FROM job_changes WHERE seq > ? ORDER BY seq LIMIT ?'),
      any: store.prepare('SELECT 1 FROM job_changes LIMIT 1'),
      last: store.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'job_changes'"),
      dropUpTo: store.prepare('DELETE FROM job_changes WHERE seq <= ?'),
      prune: store.prepare(`DELETE FROM job_changes WHERE (at < ? AND seq <= ?) OR seq <= coalesce((SELECT min(changes_seq) FROM (${subscribed})), (SELECT max(seq) FROM job_changes))`),
      forget: store.prepare('DELETE FROM job_changes WHERE person = ?'),
    };
  }

  /** Whether anybody is to be told of changes. */
  isWatched(): boolean {
    return this.#statements.isWatched.get() !== undefined;
  }

  add(person: string, from: Job, to: Job, nowMs: number): void {
    const { lastInsertRowid } = this.#statements.add.run(person, JSON.stringify({ from, to }), nowMs);
    if (Number(lastInsertRowid) % PRUNE_EVERY === 0) this.#statements.dropUpTo.run(Number(lastInsertRowid) - MOST_KEPT);
  }

  /** The next ones behind a place. */
  following(seq: number, limit: number): JobChange[] {
    return this.#statements.following.all(seq, limit).map((row) => {
      const { from, to } = JSON.parse(row['doc'] as string) as Pick<JobChange, 'from' | 'to'>;
      return { seq: row['seq'] as number, person: row['person'] as string, from, to, atMs: row['at'] as number };
    });
  }

  /** The place of the last one that there was; 0: none. */
  last(): number {
    return Number(this.#statements.last.get()?.['seq'] ?? 0);
  }

  isAny(): boolean {
    return this.#statements.any.get() !== undefined;
  }

  /** Drops those that all who subscribed were told of, and those up to `toldUpTo` that are old: what is still to be told is not dropped by age, for the clock may be ahead. */
  prune(nowMs: number, toldUpTo: number): void {
    this.#statements.prune.run(nowMs - KEPT_MS, toldUpTo);
  }

  forget(person: string): void {
    this.#statements.forget.run(person);
  }
}
