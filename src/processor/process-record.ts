import type { CompanyRecord, ContactRecord } from '../client/types.ts';
import { ReorderBuffer } from '../util/reorder-buffer.ts';
import type { CompiledJob, Step } from '../definition/compiled-job.ts';
import type { InputRecord } from '../formats/input-record.ts';
import { isBlank } from '../verification/clean-keys.ts';
import { shownKey, verifyKeyAsSpelled, type KeysOf, type RecordKeys } from './lookup-keys.ts';
import type { LookupOutcome } from './lookup-step.ts';
import type { Steps } from './open-steps.ts';
import { errorOf, invalid, NO_ANSWERS, SKIPPED, SUPPRESSED, type StepAnswers, type RecordResult } from './result.ts';
import type { VerifyOutcome } from './verify-outcome.ts';

/** Follows one record through the steps. */
export interface RecordListener {
  /** An answer stays in memory from now until the row is written. @param bytes approximate size */
  retained(bytes: number): void;
  /** Called once, when no step is left to ask. */
  done(result: RecordResult): void;
}

/** An answer's text and its parsed form. */
const BYTES_PER_CHAR = 3;

type DraftResult = { -readonly [K in keyof RecordResult]: RecordResult[K] };

/** One record on its way through the steps. */
interface RecordInProgress {
  readonly record: InputRecord;
  readonly keys: RecordKeys;
  /** The result so far. */
  result: DraftResult;
  readonly listener: RecordListener;
}

/** A record that is ready for its verify step, or null for one that skips it. */
type VerifyTurn = { readonly email: string; readonly spelled: string; readonly inProgress: RecordInProgress } | null;

/**
 * Verify requests end after this many rows of the output, full or not. Where few rows have an address to verify, requests that only fill up
 * would have other addresses after a crash, and so other Idempotency-Keys.
 */
interface VerifyGroups {
  readonly rows: number;
  /** Rows of the output before the first record. */
  readonly before: number;
}

/**
 * Takes one record through the configured steps: enrich, verify, company, reveal. After a failed step, or one that reports a suppressed
 * person, later steps are skipped. `number` counts the run's records from 0, without gaps.
 */
export class RecordProcessor {
  readonly #job: CompiledJob;
  readonly #steps: Steps;
  readonly #keysOf: KeysOf;
  readonly #verifyTurns = new ReorderBuffer<{ turn: VerifyTurn }>();
  readonly #groups: VerifyGroups | null;

  constructor(job: CompiledJob, steps: Steps, keysOf: KeysOf, groups: VerifyGroups | null = null) {
    this.#job = job;
    this.#steps = steps;
    this.#keysOf = keysOf;
    this.#groups = groups;
  }

  process(record: InputRecord, number: number, listener: RecordListener): void {
    const keys = record.bad === null ? this.#keysOf(record) : 'bad_row';
    if (typeof keys === 'string') {
      this.skip(number);
      listener.done(keys === 'skipped' ? SKIPPED : invalid(keys));
      return;
    }
    const result: DraftResult = {
      outcome: keys.decides === 'verify' ? 'matched' : 'no_match',
      error: null,
      ...NO_ANSWERS,
      failure: null,
      didYouMean: keys.cleanedEmail,
    };
    const inProgress: RecordInProgress = { record, keys, result, listener };
    const { enrich } = this.#steps;
    if (enrich === null || keys.enrich === null) {
      this.#verify(inProgress, number);
      return;
    }
    const { key } = keys.enrich;
    enrich.ask(
      keys.enrich,
      (outcome) => {
        if (this.#apply(inProgress, 'enrich', key, outcome)) {
          this.#verify(inProgress, number);
        } else {
          this.skip(number);
          listener.done(inProgress.result);
        }
      },
      record,
    );
  }

  /** This record skips its verify step; later ones may go on. */
  skip(number: number): void {
    if (this.#steps.verify !== null) this.#takeTurn(number, null);
  }

  #verify(inProgress: RecordInProgress, number: number): void {
    const { verify } = this.#steps;
    const address = verify === null ? null : this.#addressToVerify(inProgress);
    if (address === null) {
      this.skip(number);
      this.#company(inProgress);
    } else {
      this.#takeTurn(number, { email: address.key, spelled: address.spelled, inProgress });
    }
  }

  /** The record's own address, else the one that enrich found. */
  #addressToVerify({ record, keys, result: { enrich } }: RecordInProgress): { key: string; spelled: string } | null {
    if (this.#job.verify.when === 'unverified' && enrich?.record.verified === true) return null;
    const found = enrich?.record.email;
    if (typeof found === 'string' && isBlank(record.email)) return verifyKeyAsSpelled(found);
    return keys.verify === null ? null : { key: keys.verify, spelled: keys.spelled ?? keys.verify };
  }

  #takeTurn(number: number, turn: VerifyTurn): void {
    this.#verifyTurns.put(number, { turn }, ({ turn: next }, its) => {
      if (next !== null) this.#askVerify(next);
      if (this.#groups !== null && (this.#groups.before + its + 1) % this.#groups.rows === 0) this.#steps.verify?.flush();
    });
  }

  /** `turn` is not taken apart: the callback would hold its parts by themselves, for thousands of records at once. */
  #askVerify(turn: NonNullable<VerifyTurn>): void {
    const done = (outcome: VerifyOutcome): void => this.#afterVerify(turn.inProgress, turn.email, outcome);
    this.#steps.verify?.ask(turn.email, done, turn.spelled, turn.inProgress.record);
  }

  #afterVerify(inProgress: RecordInProgress, email: string, outcome: VerifyOutcome): void {
    const goesOn = this.#apply(inProgress, 'verify', email, outcome.kind === 'verdict' ? { kind: 'hit', answer: outcome.answer } : outcome);
    if (goesOn) this.#company(inProgress);
    else inProgress.listener.done(inProgress.result);
  }

  #company(inProgress: RecordInProgress): void {
    const { company } = this.#steps;
    const key = inProgress.keys.company;
    if (company === null || key === null) {
      this.#reveal(inProgress);
      return;
    }
    const done = (outcome: LookupOutcome<CompanyRecord>): void => {
      if (this.#apply(inProgress, 'company', key, outcome)) this.#reveal(inProgress);
      else inProgress.listener.done(inProgress.result);
    };
    company.ask({ key }, done, inProgress.record);
  }

  #reveal(inProgress: RecordInProgress): void {
    const { reveal } = this.#steps;
    const lookup = inProgress.keys.reveal;
    if (reveal === null || lookup === null) {
      inProgress.listener.done(inProgress.result);
      return;
    }
    const done = (outcome: LookupOutcome<ContactRecord>): void => {
      this.#apply(inProgress, 'reveal', lookup.key, outcome);
      inProgress.listener.done(inProgress.result);
    };
    reveal.ask(lookup, done, inProgress.record);
  }

  /** Applies a step's outcome to the result. Returns whether later steps go on. */
  #apply<S extends Step>(
    inProgress: RecordInProgress,
    step: S,
    key: string,
    outcome: LookupOutcome<NonNullable<StepAnswers[S]>['record']>,
  ): boolean {
    const { result } = inProgress;
    const lookups = (result.lookups ?? 0) + 1;
    result.lookups = lookups;
    switch (outcome.kind) {
      case 'hit':
        if (step !== 'verify') inProgress.listener.retained(outcome.answer.text.length * BYTES_PER_CHAR);
        result[step] = outcome.answer as DraftResult[S];
        if (inProgress.keys.decides === step) result.outcome = 'matched';
        return true;
      case 'miss':
        return true;
      case 'suppressed':
        inProgress.result = { ...SUPPRESSED, lookups };
        return false;
      case 'failed': {
        const { code, attempts, requestId } = outcome;
        result.outcome = 'failed';
        result.error = errorOf(step, code, this.#job.steps);
        result.failure = { step, key: shownKey(key), code, attempts, requestId };
        return false;
      }
      default:
        return outcome satisfies never;
    }
  }
}
