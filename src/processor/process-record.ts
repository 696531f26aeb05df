import type { CompanyRecord, ContactRecord, VerificationResult } from '../client/types.ts';
import type { CompiledJob, Step } from '../definition/compiled-job.ts';
import type { InputRecord } from '../formats/input-record.ts';
import { shownKey, verifyKeyAsSpelled, type KeysOf, type Lookups, type RecordKeys } from './lookup-keys.ts';
import type { Contribution } from './contribution.ts';
import type { LookupDone } from './lookup-waterfall.ts';
import type { LookupOutcome } from '../lookup/lookup-outcome.ts';
import type { Steps } from './open-steps.ts';
import { errorOf, invalid, NO_ANSWERS, SKIPPED, SUPPRESSED, type StepAnswers, type RecordResult } from './result.ts';
import { VerifyWaterfall, type VerifyGroups } from './verify-waterfall.ts';

/** Follows one record through the steps. */
export interface RecordListener {
  /** An answer stays in memory from now until the row is written. @param bytes approximate size; negative for one that is dropped before */
  retained(bytes: number): void;
  /** Called once, when no step is left to ask. */
  done(result: RecordResult): void;
}

/** An answer's text and its parsed form. */
const BYTES_PER_CHAR = 3;

const retainedFor =
  (listener: RecordListener) =>
  (chars: number): void =>
    listener.retained(chars * BYTES_PER_CHAR);

type DraftResult = { -readonly [K in keyof RecordResult]: RecordResult[K] };

/** One record on its way through the steps. */
interface RecordInProgress {
  readonly record: InputRecord;
  readonly keys: RecordKeys;
  /** The result so far. */
  result: DraftResult;
  readonly listener: RecordListener;
}

/**
 * Takes one record through the configured steps: enrich, verify, company, reveal. After a failed step, or one that reports a suppressed
 * person, later steps are skipped. `number` counts the run's records from 0, without gaps.
 */
export class RecordProcessor {
  readonly #job: CompiledJob;
  readonly #steps: Steps;
  readonly #keysOf: KeysOf;
  /** Null without the verify step. */
  readonly #verifyTurns: VerifyWaterfall | null;

  constructor(job: CompiledJob, steps: Steps, keysOf: KeysOf, groups: VerifyGroups | null = null) {
    this.#job = job;
    this.#steps = steps;
    this.#keysOf = keysOf;
    this.#verifyTurns = steps.verify === null ? null : new VerifyWaterfall(steps.verify, job.waterfalls.verify ?? null, groups);
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
    if (enrich === null || keys.enrich.length === 0) {
      this.#verify(inProgress, number);
      return;
    }
    enrich.ask(
      keys.enrich,
      (outcome, key, contributions) => {
        if (this.#apply(inProgress, 'enrich', key, outcome, contributions)) {
          this.#verify(inProgress, number);
        } else {
          this.skip(number);
          listener.done(inProgress.result);
        }
      },
      record,
      retainedFor(listener),
    );
  }

  /** This record skips its verify step; later ones may go on. */
  skip(number: number): void {
    this.#verifyTurns?.take(number, null);
  }

  #verify(inProgress: RecordInProgress, number: number): void {
    const address = this.#verifyTurns === null ? null : this.#addressToVerify(inProgress);
    if (address === null) {
      this.skip(number);
      this.#company(inProgress);
    } else {
      this.#verifyTurns?.take(number, {
        address,
        origin: inProgress.record,
        done: (outcome, contributions) => this.#afterVerify(inProgress, address.key, outcome, contributions),
      });
    }
  }

  /** The record's own address, else the one that enrich found. */
  #addressToVerify({ keys, result: { enrich } }: RecordInProgress): { key: string; spelled: string } | null {
    if (this.#job.verify.when === 'unverified' && enrich?.record.verified === true) return null;
    const found = enrich?.record.email;
    if (typeof found === 'string' && keys.verify === null) return verifyKeyAsSpelled(found);
    return keys.verify === null ? null : { key: keys.verify, spelled: keys.spelled ?? keys.verify };
  }

  #afterVerify(
    inProgress: RecordInProgress,
    email: string,
    outcome: LookupOutcome<VerificationResult>,
    contributions: readonly Contribution[] | undefined,
  ): void {
    if (this.#apply(inProgress, 'verify', email, outcome, contributions)) this.#company(inProgress);
    else inProgress.listener.done(inProgress.result);
  }

  #company(inProgress: RecordInProgress): void {
    const { company } = this.#steps;
    const key = inProgress.keys.company;
    if (company === null || key === null) {
      this.#reveal(inProgress);
      return;
    }
    const done: LookupDone<CompanyRecord> = (outcome, _key, contributions) => {
      if (this.#apply(inProgress, 'company', key, outcome, contributions)) this.#reveal(inProgress);
      else inProgress.listener.done(inProgress.result);
    };
    company.ask(companyLookups(this.#job, key), done, inProgress.record, retainedFor(inProgress.listener));
  }

  #reveal(inProgress: RecordInProgress): void {
    const { reveal } = this.#steps;
    const lookups = inProgress.keys.reveal;
    if (reveal === null || lookups.length === 0) {
      inProgress.listener.done(inProgress.result);
      return;
    }
    const done: LookupDone<ContactRecord> = (outcome, key, contributions) => {
      this.#apply(inProgress, 'reveal', key, outcome, contributions);
      inProgress.listener.done(inProgress.result);
    };
    reveal.ask(lookups, done, inProgress.record, retainedFor(inProgress.listener));
  }

  /** Applies a step's outcome to the result. Returns whether later steps go on. */
  #apply<S extends Step>(
    inProgress: RecordInProgress,
    step: S,
    key: string,
    outcome: LookupOutcome<NonNullable<StepAnswers[S]>['record']>,
    contributions?: readonly Contribution[],
  ): boolean {
    const { result } = inProgress;
    const lookups = (result.lookups ?? 0) + askedBy(contributions);
    result.lookups = lookups;
    if (contributions !== undefined)
      result.contributions = result.contributions === undefined ? contributions : [...result.contributions, ...contributions];
    switch (outcome.kind) {
      case 'hit':
        result[step] = outcome.answer as DraftResult[S];
        if (inProgress.keys.decides === step) result.outcome = 'matched';
        return true;
      case 'miss':
        return true;
      case 'suppressed':
        inProgress.result = {
          ...SUPPRESSED,
          lookups,
          ...(result.contributions === undefined ? {} : { contributions: result.contributions }),
        };
        return false;
      case 'failed': {
        const { code, attempts, requestId } = outcome;
        result.outcome = 'failed';
        result.error = errorOf(step, code, this.#job.steps);
        const provider = contributions?.find(({ kind }) => kind === 'failed' || kind === 'unavailable')?.provider;
        result.failure = { step, key: shownKey(key), code, attempts, requestId, ...(provider === undefined ? {} : { provider }) };
        return false;
      }
      default:
        return outcome satisfies never;
    }
  }
}

/** Lookups that were asked for a record in one step. */
function askedBy(contributions: readonly Contribution[] | undefined): number {
  if (contributions === undefined) return 1;
  let asked = 0;
  for (const { kind } of contributions) if (kind !== 'unavailable') asked++;
  return asked;
}

/** The same domain for each provider that the company step asks. */
function companyLookups({ waterfalls }: Pick<CompiledJob, 'waterfalls'>, key: string): Lookups<{ readonly key: string }> {
  const lookup = { key };
  return waterfalls.company === undefined ? [lookup] : waterfalls.company.from.map(() => lookup);
}
