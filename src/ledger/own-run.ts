import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { LookupCounts, Lookups } from './lookup-counts.ts';
import type { LedgerOptions } from './options.ts';
import { bothUsed, type UsedAnswers } from './used-answers.ts';

/** Earlier runs of a job whose used answers stay recorded: more runs than any user resumes. */
const RUNS_REMEMBERED = 32;

/** Drops the used answers of old runs. One job may have several unfinished runs, with `{date}` in its output: theirs stay. */
export function forgetOldRuns(db: DatabaseSync, { job, run }: Pick<LedgerOptions, 'job' | 'run'>): void {
  const old = 'SELECT id FROM runs WHERE job = ? AND run <> ? ORDER BY id DESC LIMIT -1 OFFSET ?';
  db.prepare(`DELETE FROM used WHERE run IN (${old})`).run(job, run, RUNS_REMEMBERED);
}

/** The present run in a ledger file: the answers of other runs that it has used, and its lookups. */
export class OwnRun {
  readonly #runId: number;
  /** Other processes of this run write to the ledger as well. */
  readonly #isShared: boolean;
  readonly #used: StatementSync;
  readonly #usedOf: StatementSync;
  readonly #keepUsed: StatementSync;
  readonly #count: StatementSync;
  readonly #counted: StatementSync;
  readonly #spent: StatementSync;

  constructor(db: DatabaseSync, runId: number, isShared: boolean) {
    this.#runId = runId;
    this.#isShared = isShared;
    this.#used = db.prepare('SELECT block, bits FROM used WHERE run = ?');
    this.#usedOf = db.prepare('SELECT bits FROM used WHERE run = ? AND block = ?');
    this.#keepUsed = db.prepare('INSERT INTO used (run, block, bits) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET bits = excluded.bits');
    this.#count = db.prepare(
      'UPDATE runs SET lookups = lookups + ?, reused = reused + ?, writes = writes + 1, spent = coalesce(?, spent) WHERE id = ?',
    );
    this.#spent = db.prepare('SELECT spent FROM runs WHERE id = ?');
    this.#counted = db.prepare('SELECT lookups, reused FROM runs WHERE id = ?');
    this.#counted.setReturnArrays(true);
  }

  load(used: UsedAnswers): void {
    for (const { block, bits } of this.#used.iterate(this.#runId)) used.load(Number(block), bits as Uint8Array);
  }

  /** The stored spending; empty without any, and where several processes are this run. */
  get spent(): string {
    return this.#isShared ? '' : String(this.#spent.get(this.#runId)?.['spent'] ?? '');
  }

  /** Call it within a transaction. It always changes a row. @param spent the spending up to now; null: unknown */
  keep(used: UsedAnswers, counts: LookupCounts, spent: string | null): void {
    for (const [block, bits] of used.changed()) {
      const all = this.#isShared ? bothUsed(bits, this.#usedOf.get(this.#runId, block)?.['bits']) : bits;
      this.#keepUsed.run(this.#runId, block, all);
    }
    this.#count.run(...counts.waiting, this.#isShared ? null : spent, this.#runId);
  }

  /** The stored counts. */
  counted(): Lookups {
    const [lookups, reused] = (this.#counted.get(this.#runId) as unknown as [number, number] | undefined) ?? [0, 0];
    return { lookups, reused };
  }
}
