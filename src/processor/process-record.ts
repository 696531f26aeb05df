import { LowWatermark } from '../checkpoint/low-watermark.ts';
import type { CompiledJob } from '../job/types.ts';
import type { InputRecord } from '../reader/types.ts';
import type { EnrichOutcome, EnrichStep } from './enrich.ts';
import { enrichKey, verifyKey } from './keys.ts';
import { invalid, type RecordResult } from './result.ts';
import type { VerifyOutcome, VerifyStep } from './verify.ts';

type Done = (result: RecordResult) => void;
/** An answer is held from now on until the record is written: about so many bytes of memory. */
type Held = (bytes: number) => void;

/** An answer's text, and what it was parsed into. */
const BYTES_PER_CHAR = 3;

/** A record that is ready for (or past) its verify step, in its turn. */
type VerifyTurn = { readonly email: string; readonly sofar: RecordResult; readonly done: Done } | null;

/**
 * Verify requests end with each so many rows of the output, full or not. Where few rows have something to ask, requests
 * that just fill up would hold other addresses after a crash, and so carry other Idempotency-Keys.
 */
export interface VerifyGroups {
  readonly rows: number;
  /** Rows of the output before the first record. */
  readonly before: number;
}

/** Takes one record through the configured steps. `number` counts the run's records from 0, without gaps. */
export class RecordProcessor {
  readonly #job: CompiledJob;
  readonly #enrich: EnrichStep | null;
  readonly #verify: VerifyStep | null;
  readonly #verifyTurns = new LowWatermark<{ turn: VerifyTurn }>();
  readonly #groups: VerifyGroups | null;

  constructor(job: CompiledJob, steps: { enrich: EnrichStep | null; verify: VerifyStep | null }, groups: VerifyGroups | null = null) {
    this.#job = job;
    this.#enrich = steps.enrich;
    this.#verify = steps.verify;
    this.#groups = groups;
  }

  process(record: InputRecord, number: number, done: Done, held: Held): void {
    if (record.bad !== null) {
      this.#finish(number, invalid('bad_row'), done);
    } else if (this.#enrich === null) {
      this.#startWithVerify(record, number, done);
    } else {
      const lookup = enrichKey(record.email, record.domain);
      if (typeof lookup === 'string') this.#finish(number, invalid(lookup), done);
      else this.#enrich.ask(lookup, (outcome) => {
        if (outcome.kind === 'hit') held(outcome.answer.text.length * BYTES_PER_CHAR);
        this.#afterEnrich(record, number, lookup.key, outcome, done);
      });
    }
  }

  /** Nothing is asked for this record. */
  skip(number: number): void {
    this.#takeTurn(number, null);
  }

  #startWithVerify(record: InputRecord, number: number, done: Done): void {
    const email = verifyKey(record.email);
    if (email === null) this.#finish(number, invalid(record.email.trim() === '' ? 'no_key' : 'bad_email'), done);
    else this.#takeTurn(number, { email, sofar: NOTHING_YET, done });
  }

  #afterEnrich(record: InputRecord, number: number, key: string, outcome: EnrichOutcome, done: Done): void {
    if (outcome.kind === 'suppressed') {
      this.#finish(number, SUPPRESSED, done);
      return;
    }
    if (outcome.kind === 'failed') {
      const { code, attempts, requestId } = outcome;
      this.#finish(number, { outcome: 'failed', error: code, enrich: null, verify: null, failure: { step: 'enrich', key, code, attempts, requestId } }, done);
      return;
    }
    const answer = outcome.kind === 'hit' ? outcome.answer : null;
    const sofar: RecordResult = { outcome: answer === null ? 'no_match' : 'matched', error: null, enrich: answer, verify: null, failure: null };
    const wanted = this.#verify !== null && !(this.#job.verify.when === 'unverified' && answer?.record.verified === true);
    const found = answer?.record.email;
    const email = wanted ? verifyKey(record.email.trim() === '' && typeof found === 'string' ? found : record.email) : null;
    if (email === null) this.#finish(number, sofar, done);
    else this.#takeTurn(number, { email, sofar, done });
  }

  /** Ends a record without a verify step; those behind it may now take their turn. */
  #finish(number: number, result: RecordResult, done: Done): void {
    this.skip(number);
    done(result);
  }

  #takeTurn(number: number, turn: VerifyTurn): void {
    if (this.#verify === null) return;
    this.#verifyTurns.put(number, { turn }, ({ turn: next }, its) => {
      if (next !== null) this.#verify?.ask(next.email, (outcome) => next.done(withVerdict(next, outcome, this.#enrich !== null)));
      if (this.#groups !== null && (this.#groups.before + its + 1) % this.#groups.rows === 0) this.#verify?.flush();
    });
  }
}

/** Nothing of a person who asked to be removed, whichever step says so. */
const SUPPRESSED: RecordResult = { outcome: 'suppressed', error: null, enrich: null, verify: null, failure: null };

const NOTHING_YET: RecordResult = { outcome: 'matched', error: null, enrich: null, verify: null, failure: null };

function withVerdict({ sofar, email }: { sofar: RecordResult; email: string }, outcome: VerifyOutcome, laterStep: boolean): RecordResult {
  if (outcome.kind === 'verdict') return { ...sofar, verify: outcome.answer };
  if (outcome.kind === 'suppressed') return SUPPRESSED;
  const { code, attempts, requestId } = outcome;
  return { ...sofar, outcome: 'failed', error: laterStep ? `verify:${code}` : code, failure: { step: 'verify', key: email, code, attempts, requestId } };
}
