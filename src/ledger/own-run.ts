import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { LookupCounts, Lookups } from './lookup-counts.ts';
import type { LedgerOptions } from './options.ts';
import { bothUsed, type UsedAnswers } from './used-answers.ts';

/** Runs of a job, besides the present one, whose use of other runs' answers is kept: more have begun since than anybody resumes. */
const RUNS_REMEMBERED = 32;

/**
 * Forgets what old runs of the job have used. One job may have several runs that are not over, with `{date}` in its output: what they
 * have used stays theirs.
 */
export function forgetOldRuns(db: DatabaseSync, { job, run }: Pick<LedgerOptions, 'job' | 'run'>): void {
  const old = 'SELECT id FROM runs WHERE job = ? AND run <> ? ORDER BY id DESC LIMIT -1 OFFSET ?';
  db.prepare(`DELETE FROM used WHERE run IN (${old})`).run(job, run, RUNS_REMEMBERED);
}

/** What a ledger's file says of the present run: which answers of others it has used, and how many lookups it has had. */
export class OwnRun {
  readonly #runId: number;
  /** Other processes of this run write to the ledger as well. */
  readonly #isShared: boolean;
  readonly #used: StatementSync;
  readonly #usedOf: StatementSync;
  readonly #keepUsed: StatementSync;
  readonly #count: StatementSync;
  readonly #counted: StatementSync;

  constructor(db: DatabaseSync, runId: number, isShared: boolean) {
    this.#runId = runId;
    this.#isShared = isShared;
    this.#used = db.prepare('SELECT block, bits FROM used WHERE run = ?');
    this.#usedOf = db.prepare('SELECT bits FROM used WHERE run = ? AND block = ?');
    this.#keepUsed = db.prepare('INSERT INTO used (run, block, bits) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET bits = excluded.bits');
    this.#count = db.prepare('UPDATE runs SET lookups = lookups + ?, reused = reused + ?, writes = writes + 1 WHERE id = ?');
    this.#counted = db.prepare('SELECT lookups, reused FROM runs WHERE id = ?');
    this.#counted.setReturnArrays(true);
  }

  load(used: UsedAnswers): void {
    for (const { block, bits } of this.#used.iterate(this.#runId)) used.load(Number(block), bits as Uint8Array);
  }

  /** Within a transaction: always changes a row. */
  keep(used: UsedAnswers, counts: LookupCounts): void {
    for (const [block, bits] of used.changed()) {
      const all = this.#isShared ? bothUsed(bits, this.#usedOf.get(this.#runId, block)?.['bits']) : bits;
      this.#keepUsed.run(this.#runId, block, all);
    }
    this.#count.run(...counts.waiting, this.#runId);
  }

  /** What was kept of the counts. */
  counted(): Lookups {
    const [lookups, reused] = (this.#counted.get(this.#runId) as unknown as [number, number] | undefined) ?? [0, 0];
    return { lookups, reused };
  }
}
