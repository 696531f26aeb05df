/** The verify step over its providers: the next one gets the addresses that no verdict has settled. */
import type { Waterfall } from '../definition/waterfall.ts';
import type { VerificationResult } from '../client/types.ts';
import type { RecordOrigin } from '../formats/input-record.ts';
import { ReorderBuffer } from '../util/reorder-buffer.ts';
import type { Contribution } from './contribution.ts';
import type { LookupOutcome, StepAnswer } from '../lookup/lookup-outcome.ts';
import type { VerifyLookup } from './verify.ts';

type VerifyOutcome = LookupOutcome<VerificationResult>;

/** @param contributions absent where the job names no providers */
type VerifyDone = (outcome: VerifyOutcome, contributions?: readonly Contribution[]) => void;

/** The part of `VerifyStep` that is called here. */
export interface VerifyProvider {
  /** Whether requests carry several addresses, so that their order matters. */
  readonly isOrdered: boolean;
  ask(lookup: VerifyLookup, done: (outcome: VerifyOutcome) => void, origin: RecordOrigin | null): void;
  flush(): void;
}

/** A record that is ready for its verify step. */
export interface VerifyTurn {
  readonly address: VerifyLookup;
  readonly origin: RecordOrigin;
  readonly done: VerifyDone;
}

/**
 * Verify requests end after this many rows of the output, full or not. Where few rows have an address to verify, requests that only fill up
 * would have other addresses after a crash, and so other Idempotency-Keys.
 */
export interface VerifyGroups {
  readonly rows: number;
  /** Rows of the output before the first record. */
  readonly before: number;
}

/** The providers of the step, and the verdicts that settle an address. */
type VerifyRule = Pick<Waterfall, 'from' | 'until'>;

/** An address on its way through the providers. */
interface Progress {
  readonly turn: VerifyTurn;
  readonly contributions: Contribution[];
  readonly verdicts: { readonly provider: string; readonly answer: StepAnswer<VerificationResult> }[];
  failure: Exclude<VerifyOutcome, { kind: 'hit' }> | null;
}

/** An object, because the buffer tells null from absent. */
interface Place {
  readonly progress: Progress | null;
}

export class VerifyWaterfall {
  readonly #providers: readonly VerifyProvider[];
  readonly #rule: VerifyRule;
  readonly #namesProviders: boolean;
  readonly #groups: VerifyGroups | null;
  /**
   * By provider: records in input order, each with its turn or without one. Null where each address has a request of its own: an address
   * that waits for an earlier provider holds up no other.
   */
  readonly #turns: readonly (ReorderBuffer<Place> | null)[];

  /** @param providers in the order of `rule.from`. @param namesProviders whether records say whom their verdict is from */
  constructor(providers: readonly VerifyProvider[], rule: VerifyRule, namesProviders: boolean, groups: VerifyGroups | null) {
    this.#providers = providers;
    this.#rule = rule;
    this.#namesProviders = namesProviders;
    this.#groups = groups;
    this.#turns = providers.map(({ isOrdered }) => (isOrdered ? new ReorderBuffer<Place>() : null));
  }

  /** @param number counts the run's records from 0, without gaps. @param turn null for a record that skips the step */
  take(number: number, turn: VerifyTurn | null): void {
    if (turn === null) this.#skip(number, 0);
    else this.#put(number, 0, { turn, contributions: [], verdicts: [], failure: null });
  }

  /** The record asks none of the providers from this one on. */
  #skip(number: number, from: number): void {
    for (let index = from; index < this.#providers.length; index++) this.#put(number, index, null);
  }

  #put(number: number, index: number, progress: Progress | null): void {
    const provider = this.#providers[index];
    const turns = this.#turns[index] ?? null;
    if (turns === null) {
      if (progress !== null) this.#ask(number, index, progress);
      return;
    }
    turns.put(number, { progress }, ({ progress: next }, its) => {
      if (next !== null) this.#ask(its, index, next);
      if (this.#groups !== null && (this.#groups.before + its + 1) % this.#groups.rows === 0) provider?.flush();
    });
  }

  /** `progress` is not taken apart: the callback would hold its parts by themselves, for thousands of records at once. */
  #ask(number: number, index: number, progress: Progress): void {
    const done = (outcome: VerifyOutcome): void => this.#answered(number, index, progress, outcome);
    this.#providers[index]?.ask(progress.turn.address, done, progress.turn.origin);
  }

  #answered(number: number, index: number, progress: Progress, outcome: VerifyOutcome): void {
    // Without names there is one provider, whose verdict stays as it is.
    if (!this.#namesProviders) {
      progress.turn.done(outcome);
      return;
    }
    const rule = this.#rule;
    this.#note(progress, rule.from[index] ?? '', outcome);
    const isOver = outcome.kind === 'suppressed' || (outcome.kind === 'hit' && rule.until.includes(outcome.answer.record.result));
    if (isOver || index + 1 === this.#providers.length) {
      this.#end(progress, rule, outcome);
      this.#skip(number, index + 1);
    } else this.#put(number, index + 1, progress);
  }

  #note(progress: Progress, provider: string, outcome: VerifyOutcome): void {
    const { contributions, verdicts } = progress;
    const kind =
      outcome.kind === 'hit'
        ? 'matched'
        : outcome.kind === 'suppressed'
          ? 'suppressed'
          : outcome.kind === 'failed' && outcome.unavailable === true
            ? 'unavailable'
            : 'failed';
    const code = outcome.kind === 'failed' ? { code: outcome.code } : {};
    contributions.push({ step: 'verify', provider, kind, fields: 0, isFirst: verdicts.length === 0, ...code });
    if (outcome.kind === 'hit') verdicts.push({ provider, answer: outcome.answer });
    else progress.failure ??= outcome;
  }

  /** The row shows the verdict that settled the address; else the first that says something, else the first. */
  #end(progress: Progress, { until }: VerifyRule, last: VerifyOutcome): void {
    const { turn, contributions, verdicts } = progress;
    const settled = verdicts.find(({ answer }) => until.includes(answer.record.result));
    const shown = settled ?? verdicts.find(({ answer }) => answer.record.result !== 'unknown') ?? verdicts[0];
    if (last.kind === 'suppressed' || shown === undefined) {
      turn.done(last.kind === 'suppressed' ? last : (progress.failure ?? last), contributions);
      return;
    }
    const record = { ...shown.answer.record, source: shown.provider };
    const counted = contributions.map((one) => ({ ...one, fields: one.provider === shown.provider ? 1 : 0 }));
    turn.done({ kind: 'hit', answer: { record, text: JSON.stringify(record) } }, counted);
  }
}
