/** Runs a job chunk by chunk. The lines of a chunk are executed, charged and committed together, or not at all. */
import type { ServiceError } from '../http/problem.ts';
import type { ActiveKey } from '../accounts/key-ring.ts';
import type { BatchRow, Reason } from './batch-rows.ts';
import { creditsOf, type Budget } from './budget.ts';
import { FileTruncated } from './batch-folder.ts';
import { toLine, type RawLine } from './read-lines.ts';
import { CHUNK_LINES } from './batch-limits.ts';
import { nextLines, batchParts, type NextLines } from './next-lines.ts';
import type { Committer, CommitOptions } from './commit.ts';
import type { LineOutcome } from './execute.ts';
import { storedOutcome, storedUnprocessed, statusOf } from './result-lines.ts';
import { executeChunk, type ExecuteChunkOptions } from './execute-chunk.ts';

/** Lines that one step of `skip` marks as unprocessed. */
const SKIP_LINES = 5_000;
const NO_COUNTS = { succeeded: 0, not_found: 0, failed: 0 } as const;

export interface ChunkRunnerOptions extends CommitOptions, ExecuteChunkOptions {}

export class ChunkRunner {
  readonly #options: ChunkRunnerOptions;
  readonly #committer: Committer;
  readonly #budget: Budget;

  constructor(options: ChunkRunnerOptions, committer: Committer, budget: Budget) {
    this.#options = options;
    this.#committer = committer;
    this.#budget = budget;
  }

  /**
   * Runs one chunk and returns null, or returns why the budget is too small for a line. The job is paused in the same transaction when the
   * next line costs more than is left. The key must have a call left.
   * @throws LeaseLost; errors of the disk or the store, and temporary errors: then nothing was committed
   */
  async work(row: BatchRow, key: ActiveKey): Promise<Reason | null> {
    const { keys, rows } = this.#options;
    const budget = this.#budget.of(row, key);
    if (budget < 1) return this.#budget.short(row, key, 1);
    const { lines, part } = await this.#nextLines(row, Math.min(CHUNK_LINES, keys.left(key).calls, budget));
    const outcomes = await executeChunk(this.#options, row, lines);
    const affordable = this.#budget.affordable(row, key, outcomes);
    const done = outcomes.slice(0, affordable);
    const use = { credits: done.reduce((sum, outcome) => sum + creditsOf(outcome), 0), calls: done.length };
    const needs = affordable < outcomes.length ? creditsOf(outcomes[affordable] as LineOutcome) : null;
    if (done.length === 0) return this.#budget.short(row, key, needs ?? 1);
    const reservation = keys.reserve(key, use);
    try {
      const counts = { ...NO_COUNTS };
      for (const outcome of done) (counts as Record<keyof typeof counts, number>)[statusOf(outcome)]++;
      const results = await this.#committer.toBytes(done.length, (at) =>
        storedOutcome(row.position.line + at + 1, done[at] as LineOutcome),
      );
      const position = { part, offset: (lines[done.length - 1] as RawLine).next, line: row.position.line + done.length };
      await this.#committer.commitChunk(row, results, { position, counts, credits: use.credits }, reservation, () => {
        if (needs !== null && rows.find(row.id)?.state === 'in_progress')
          rows.move(row, 'paused', this.#budget.short({ ...row, credits: row.credits + use.credits }, key, needs));
      });
    } catch (error) {
      reservation.release();
      throw error;
    }
    return null;
  }

  /** Commits the next lines as unprocessed. @param why null when the job was cancelled @throws the errors of `work` */
  async skip(row: BatchRow, why: ServiceError | null): Promise<void> {
    const { rows } = this.#options;
    const { lines, part } = await this.#nextLines(row, SKIP_LINES);
    const results = await this.#committer.toBytes(lines.length, (at) =>
      storedUnprocessed(row.position.line + at + 1, toLine(lines[at] as RawLine, row.request.format, row.header).customId, why),
    );
    const position = { part, offset: (lines.at(-1) as RawLine).next, line: row.position.line + lines.length };
    await this.#committer.commitChunk(row, results, { position, counts: NO_COUNTS, credits: 0 }, null, () => {
      if (why !== null) rows.setReason(row, { code: 'insufficient_credits', detail: why.message });
    });
  }

  /** Up to `limit` lines without a result, at least one. @throws FileTruncated when fewer lines are left than validation counted */
  async #nextLines(row: BatchRow, limit: number): Promise<NextLines> {
    const ahead = await nextLines(batchParts(this.#options, row), row.position, Math.min(limit, row.total - row.position.line));
    if (ahead.lines.length === 0) throw new FileTruncated('the job has fewer lines than it had');
    return ahead;
  }
}
