/** Works off the lines of a job, so many at a time: they are performed, paid for and noted together, or nothing of it has happened. */
import type { ServiceError } from '../errors.ts';
import type { ActiveKey } from '../key-ring.ts';
import type { BatchRow, Reason } from './batch-rows.ts';
import { creditsOf, type Budget } from './budget.ts';
import { FileCut } from './folder.ts';
import { toLine, type RawLine } from './input.ts';
import { ROUND_LINES } from './limits.ts';
import { linesAhead, sourceOf, type Ahead } from './lines-ahead.ts';
import type { Notes, NotesOptions } from './notes.ts';
import type { Outcome } from './perform.ts';
import { keptOutcome, keptUnprocessed, statusOf } from './result-lines.ts';
import { performRound, type RoundOptions } from './round.ts';

/** Lines that are only to be told of as unprocessed. */
const SKIP_LINES = 5_000;
const NO_COUNTS = { succeeded: 0, not_found: 0, failed: 0 } as const;

export interface RoundsOptions extends NotesOptions, RoundOptions {}

export class Rounds {
  readonly #options: RoundsOptions;
  readonly #notes: Notes;
  readonly #budget: Budget;

  constructor(options: RoundsOptions, notes: Notes, budget: Budget) {
    this.#options = options;
    this.#notes = notes;
    this.#budget = budget;
  }

  /** One round. The key has a call left at the least. Returns why there was none; null: it is noted, and where the next line costs more than is left the job is paused. @throws Dismissed; what the disk or the store says, or what may work later, and then nothing has happened */
  async work(row: BatchRow, key: ActiveKey): Promise<Reason | null> {
    const { keys, rows } = this.#options;
    const budget = this.#budget.of(row, key);
    if (budget < 1) return this.#budget.short(row, key, 1);
    const { lines, part } = await this.#ahead(row, Math.min(ROUND_LINES, keys.left(key).calls, budget));
    const outcomes = await performRound(this.#options, row, lines);
    const affordable = this.#budget.affordable(row, key, outcomes);
    const done = outcomes.slice(0, affordable);
    const use = { credits: done.reduce((sum, outcome) => sum + creditsOf(outcome), 0), calls: done.length };
    const needs = affordable < outcomes.length ? creditsOf(outcomes[affordable] as Outcome) : null;
    if (done.length === 0) return this.#budget.short(row, key, needs ?? 1);
    keys.hold(key, use);
    try {
      const counts = { ...NO_COUNTS };
      for (const outcome of done) (counts as Record<keyof typeof counts, number>)[statusOf(outcome)]++;
      const kept = await this.#notes.toBytes(done.length, (at) => keptOutcome(row.place.line + at + 1, done[at] as Outcome));
      const place = { part, offset: (lines[done.length - 1] as RawLine).next, line: row.place.line + done.length };
      await this.#notes.add(row, kept, { place, counts, credits: use.credits }, { key, use }, () => {
        if (needs !== null && rows.find(row.id)?.state === 'in_progress') rows.move(row, 'paused', this.#budget.short({ ...row, credits: row.credits + use.credits }, key, needs));
      });
    } catch (error) {
      keys.letGo(key, use);
      throw error;
    }
    return null;
  }

  /** Tells of the next lines that they were not worked on. @param why null: the job was cancelled @throws as `work` does */
  async skip(row: BatchRow, why: ServiceError | null): Promise<void> {
    const { rows } = this.#options;
    const { lines, part } = await this.#ahead(row, SKIP_LINES);
    const kept = await this.#notes.toBytes(lines.length, (at) => keptUnprocessed(row.place.line + at + 1, toLine(lines[at] as RawLine, row.request.format, row.header).customId, why));
    const place = { part, offset: (lines.at(-1) as RawLine).next, line: row.place.line + lines.length };
    await this.#notes.add(row, kept, { place, counts: NO_COUNTS, credits: 0 }, null, () => {
      if (why !== null) rows.setReason(row, { code: 'insufficient_credits', detail: why.message });
    });
  }

  /** Up to `most` of the lines that have no result yet, one at least. @throws FileCut where there are fewer than were counted */
  async #ahead(row: BatchRow, most: number): Promise<Ahead> {
    const ahead = await linesAhead(sourceOf(this.#options, row), row.place, Math.min(most, row.total - row.place.line));
    if (ahead.lines.length === 0) throw new FileCut('the job has fewer lines than it had');
    return ahead;
  }
}
