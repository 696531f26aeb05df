import { LowWatermark } from '../checkpoint/low-watermark.ts';
import type { CompiledJob, Step } from '../job/types.ts';
import type { InputRecord } from '../reader/types.ts';
import { isBlank } from '../verification/clean-keys.ts';
import { verifyKeyAsSpelled, type KeysOf, type RecordKeys } from './keys.ts';
import type { LookupOutcome } from './lookup-step.ts';
import type { Steps } from './open-steps.ts';
import { errorOf, invalid, NO_ANSWERS, SUPPRESSED, type Answers, type RecordResult } from './result.ts';
import type { VerifyOutcome } from './verify.ts';

type Done = (result: RecordResult) => void;
/** An answer is held from now on until the record is written: about so many bytes of memory. */
type Held = (bytes: number) => void;

/** An answer's text, and what it was parsed into. */
const BYTES_PER_CHAR = 3;

type Draft = { -readonly [K in keyof RecordResult]: RecordResult[K] };

/** One record on its way through the steps. */
interface Passage {
  readonly keys: RecordKeys;
  /** Whether the record has an address of its own, however bad. */
  readonly hasEmail: boolean;
  /** What is known so far. */
  result: Draft;
  readonly done: Done;
  readonly held: Held;
}

/** A record that is ready for (or past) its verify step, in its turn. */
type VerifyTurn = { readonly email: string; readonly spelled: string; readonly passage: Passage } | null;

/**
 * Verify requests end with each so many rows of the output, full or not. Where few rows have something to ask, requests
 * that just fill up would hold other addresses after a crash, and so carry other Idempotency-Keys.
 */
export interface VerifyGroups {
  readonly rows: number;
  /** Rows of the output before the first record. */
  readonly before: number;
}

/**
 * Takes one record through the configured steps: enrich, verify, company, reveal. Where one of them fails, or says that the
 * person asked to be removed, those after it are not asked. `number` counts the run's records from 0, without gaps.
 */
export class RecordProcessor {
  readonly #job: CompiledJob;
  readonly #steps: Steps;
  readonly #keysOf: KeysOf;
  readonly #verifyTurns = new LowWatermark<{ turn: VerifyTurn }>();
  readonly #groups: VerifyGroups | null;

  constructor(job: CompiledJob, steps: Steps, keysOf: KeysOf, groups: VerifyGroups | null = null) {
    this.#job = job;
    this.#steps = steps;
    this.#keysOf = keysOf;
    this.#groups = groups;
  }

  process(record: InputRecord, number: number, done: Done, held: Held): void {
    const keys = record.bad === null ? this.#keysOf(record) : 'bad_row';
    if (typeof keys === 'string') {
      this.skip(number);
      done(invalid(keys));
      return;
    }
    const result: Draft = { outcome: keys.decides === 'verify' ? 'matched' : 'no_match', error: null, ...NO_ANSWERS, failure: null, didYouMean: keys.cleanedEmail };
    const passage: Passage = { keys, hasEmail: !isBlank(record.email), result, done, held };
    const { enrich } = this.#steps;
    if (enrich === null || keys.enrich === null) {
      this.#verify(passage, number);
      return;
    }
    const { key } = keys.enrich;
    enrich.ask(keys.enrich, (outcome) => {
      if (this.#took(passage, 'enrich', key, outcome)) {
        this.#verify(passage, number);
      } else {
        this.skip(number);
        done(passage.result);
      }
    });
  }

  /** Nothing is verified for this record; those behind it may take their turn. */
  skip(number: number): void {
    if (this.#steps.verify !== null) this.#takeTurn(number, null);
  }

  #verify(passage: Passage, number: number): void {
    const { verify } = this.#steps;
    const address = verify === null ? null : this.#addressOf(passage);
    if (address === null) {
      this.skip(number);
      this.#company(passage);
    } else {
      this.#takeTurn(number, { email: address.key, spelled: address.spelled, passage });
    }
  }

  /** The record's own address, else the one that enrich found. */
  #addressOf({ keys, hasEmail, result: { enrich } }: Passage): { key: string; spelled: string } | null {
    if (this.#job.verify.when === 'unverified' && enrich?.record.verified === true) return null;
    const found = enrich?.record.email;
    if (!hasEmail && typeof found === 'string') return verifyKeyAsSpelled(found);
    return keys.verify === null ? null : { key: keys.verify, spelled: keys.spelled ?? keys.verify };
  }

  #takeTurn(number: number, turn: VerifyTurn): void {
    this.#verifyTurns.put(number, { turn }, ({ turn: next }, its) => {
      if (next !== null) this.#steps.verify?.ask(next.email, (outcome) => this.#afterVerify(next.passage, next.email, outcome), next.spelled);
      if (this.#groups !== null && (this.#groups.before + its + 1) % this.#groups.rows === 0) this.#steps.verify?.flush();
    });
  }

  #afterVerify(passage: Passage, email: string, outcome: VerifyOutcome): void {
    const goesOn = this.#took(passage, 'verify', email, outcome.kind === 'verdict' ? { kind: 'hit', answer: outcome.answer } : outcome);
    if (goesOn) this.#company(passage);
    else passage.done(passage.result);
  }

  #company(passage: Passage): void {
    const { company } = this.#steps;
    const key = passage.keys.company;
    if (company === null || key === null) {
      this.#reveal(passage);
      return;
    }
    company.ask({ key }, (outcome) => {
      if (this.#took(passage, 'company', key, outcome)) this.#reveal(passage);
      else passage.done(passage.result);
    });
  }

  #reveal(passage: Passage): void {
    const { reveal } = this.#steps;
    const key = passage.keys.reveal;
    if (reveal === null || key === null) {
      passage.done(passage.result);
      return;
    }
    reveal.ask({ key }, (outcome) => {
      this.#took(passage, 'reveal', key, outcome);
      passage.done(passage.result);
    });
  }

  /** Takes what a step says into the result. False: no other step is asked. */
  #took<S extends Step>(passage: Passage, step: S, key: string, outcome: LookupOutcome<NonNullable<Answers[S]>['record']>): boolean {
    const { result } = passage;
    switch (outcome.kind) {
      case 'hit':
        if (step !== 'verify') passage.held(outcome.answer.text.length * BYTES_PER_CHAR);
        result[step] = outcome.answer as Draft[S];
        if (passage.keys.decides === step) result.outcome = 'matched';
        return true;
      case 'miss':
        return true;
      case 'suppressed':
        passage.result = SUPPRESSED;
        return false;
      case 'failed': {
        const { code, attempts, requestId } = outcome;
        result.outcome = 'failed';
        result.error = errorOf(step, code, this.#job.steps);
        result.failure = { step, key, code, attempts, requestId };
        return false;
      }
      default:
        return outcome satisfies never;
    }
  }
}
