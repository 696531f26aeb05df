import type { CompiledJob } from '../definition/compiled-job.ts';
import type { Waterfall } from '../definition/waterfall.ts';
import type { InputRecord } from '../formats/input-record.ts';
import type { LookupOutcome } from '../lookup/lookup-outcome.ts';
import { shownKey, type KeysOf, type Lookups, type RecordKeys } from './lookup-keys.ts';
import type { Contribution } from './contribution.ts';
import { LookupWaterfall, type LookupDone } from './lookup-waterfall.ts';
import type { OpenStep, Steps } from './open-steps.ts';
import { isUnanswered, openPart } from './open-part.ts';
import { errorOf, invalid, SKIPPED, SUPPRESSED, type RecordOutcome, type RecordResult } from './result.ts';
import type { VerifyLookup } from './verify.ts';
import { VerifyWaterfall, type VerifyGroups, type VerifyProvider } from './verify-waterfall.ts';
import { lookupsFor } from './walk.ts';
import type { StepConditions } from './step-conditions.ts';
import type { SuppressedPeople } from './suppressed-people.ts';
import { specOf, type Step } from '../steps/registry.ts';

/** Follows one record through the steps. */
export interface RecordListener {
  /** An answer stays in memory from now until the row is written. @param bytes approximate size; negative for one that is dropped before */
  retained(bytes: number): void;
  /**
   * A step is settled, and others follow. @param share of the steps of the job, 0 to 1
   * @param outcome null while the step that decides it is open
   */
  settled?(share: number, outcome: RecordOutcome | null): void;
  /** Called once, when no step is left to ask. */
  done(result: RecordResult): void;
}

/** An answer's text and its parsed form. */
const BYTES_PER_CHAR = 3;

const retainedFor =
  (listener: RecordListener) =>
  (chars: number): void =>
    listener.retained(chars * BYTES_PER_CHAR);

type DraftResult = { -readonly [K in keyof Omit<RecordResult, 'answers'>]: RecordResult[K] } & {
  readonly answers: Record<string, RecordResult['answers'][string]>;
};

type AnyRecord = Readonly<Record<string, unknown>>;

/** One record on its way through the steps. */
interface RecordInProgress {
  readonly record: InputRecord;
  /** Its place among the run's records, from 0 and without gaps. */
  readonly number: number;
  readonly keys: RecordKeys;
  /** The result so far. */
  result: DraftResult;
  /** The record that a step has found; null before, and where it found none. */
  readonly recordOf: (step: Step) => AnyRecord | null;
  /** Whether the step that decides the outcome has been skipped by its condition. */
  isUndecided: boolean;
  /** The step that decides the outcome is settled. */
  isDecided: boolean;
  readonly listener: RecordListener;
}

interface ProcessorOptions {
  readonly groups?: VerifyGroups | null;
  readonly conditions?: StepConditions;
  /** People who are never asked about. */
  readonly suppressed?: SuppressedPeople | null;
}

/** A step as a record meets it, whatever it asks. */
interface RecordStep {
  readonly step: Step;
  ask(inProgress: RecordInProgress, lookups: Lookups, done: LookupDone<AnyRecord>): void;
  /** The record has nothing to ask: where order matters, later ones may go on. */
  skip(number: number): void;
}

/**
 * Takes one record through the steps of the job, in their order. After a failed step, or one that reports a suppressed person, later steps
 * are skipped.
 */
export class RecordProcessor {
  readonly #job: CompiledJob;
  readonly #steps: readonly RecordStep[];
  readonly #keysOf: KeysOf;
  readonly #conditions: StepConditions;
  readonly #suppressed: SuppressedPeople | null;

  constructor(
    job: CompiledJob,
    steps: Steps,
    keysOf: KeysOf,
    { groups = null, conditions = {}, suppressed = null }: ProcessorOptions = {},
  ) {
    this.#job = job;
    this.#conditions = conditions;
    this.#suppressed = suppressed;
    this.#keysOf = keysOf;
    this.#steps = job.steps.flatMap((step) => {
      const at = steps.at[step] ?? [];
      const rule = job.waterfalls[step];
      if (rule === undefined) return [];
      if (specOf(step).verdicts === null) return [lookingUp(step, at, rule, job.namesProviders)];
      return [verifying(step, new VerifyWaterfall(at as readonly VerifyProvider[], rule, job.namesProviders, groups))];
    });
  }

  /** @param number counts the run's records from 0, without gaps */
  process(record: InputRecord, number: number, listener: RecordListener): void {
    const keys = record.bad === null ? this.#keysOf(record) : 'bad_row';
    if (typeof keys === 'string') {
      this.skip(number);
      listener.done(keys === 'skipped' ? SKIPPED : keys === 'suppressed' ? SUPPRESSED : invalid(keys));
      return;
    }
    const result: DraftResult = {
      // Any verdict is a match.
      outcome: specOf(keys.decides).verdicts === null ? 'no_match' : 'matched',
      error: null,
      answers: {},
      failure: null,
      didYouMean: keys.cleanedEmail,
    };
    if (isCompany(keys.lookups[keys.decides] ?? [])) result.isCompany = true;
    const recordOf = (step: Step): AnyRecord | null => result.answers[step]?.record ?? null;
    this.#next({ record, number, keys, result, recordOf, listener, isUndecided: false, isDecided: false }, 0);
  }

  /** The record asks nothing; later ones may go on. */
  skip(number: number): void {
    for (const step of this.#steps) step.skip(number);
  }

  /** Asks the next step that has something to ask, from this place on. */
  #next(inProgress: RecordInProgress, from: number): void {
    const { keys, number, listener } = inProgress;
    for (let place = from; place < this.#steps.length; place++) {
      const one = this.#steps[place] as RecordStep;
      const lookups = lookupsFor(one.step, { keys, recordOf: inProgress.recordOf }, this.#job);
      if (lookups === null || !this.#isMeant(inProgress, one.step)) {
        one.skip(number);
        continue;
      }
      one.ask(inProgress, lookups, (outcome, key, contributions) => {
        const goesOn = this.#apply(inProgress, one.step, key, outcome, contributions);
        // A later provider may find the company where the first has missed the person, or the other way round.
        const mayDiffer = lookups.length > 1 && keys.decides === one.step;
        if (mayDiffer && outcome.kind === 'hit') inProgress.result.isCompany = isCompany(lookups, key);
        if (!goesOn) {
          this.#end(inProgress, place + 1);
          return;
        }
        inProgress.isDecided ||= keys.decides === one.step;
        if (place + 1 < this.#steps.length)
          listener.settled?.((place + 1) / this.#steps.length, inProgress.isDecided ? inProgress.result.outcome : null);
        this.#next(inProgress, place + 1);
      });
      return;
    }
    listener.done(inProgress.isUndecided ? withOutcome(inProgress.result) : inProgress.result);
  }

  /** Whether the condition of the step holds for the record. */
  #isMeant(inProgress: RecordInProgress, step: Step): boolean {
    const holds = this.#conditions[step];
    if (holds === undefined) return true;
    const { result, record, recordOf, keys } = inProgress;
    if (holds({ record, recordOf }) === true) return true;
    result.unmeant = [...(result.unmeant ?? []), step];
    inProgress.isUndecided ||= keys.decides === step;
    return false;
  }

  /** The steps from this place on are skipped. */
  #end({ number, listener, result }: RecordInProgress, from: number): void {
    for (let place = from; place < this.#steps.length; place++) this.#steps[place]?.skip(number);
    listener.done(result);
  }

  /** Applies a step's outcome to the result. Returns whether later steps go on. */
  #apply(
    inProgress: RecordInProgress,
    step: Step,
    key: string,
    outcome: LookupOutcome<AnyRecord>,
    contributions?: readonly Contribution[],
  ): boolean {
    const { result } = inProgress;
    const lookups = (result.lookups ?? 0) + askedBy(contributions);
    result.lookups = lookups;
    if (contributions !== undefined)
      result.contributions = result.contributions === undefined ? contributions : [...result.contributions, ...contributions];
    switch (outcome.kind) {
      case 'hit':
        if (this.#isSuppressed(outcome.answer.record)) return this.#suppress(inProgress);
        result.answers[step] = outcome.answer;
        if (inProgress.keys.decides === step || inProgress.isUndecided) result.outcome = 'matched';
        this.#noteOpen(result, step, key, outcome.answer.record, contributions);
        return true;
      case 'miss':
        return true;
      case 'suppressed':
        return this.#suppress(inProgress);
      case 'failed': {
        const { code, attempts, requestId } = outcome;
        result.outcome = 'failed';
        result.error = errorOf(step, code, this.#job.steps);
        const provider = contributions?.find(isUnanswered)?.provider;
        result.failure = { step, key: shownKey(key), code, attempts, requestId, ...(provider === undefined ? {} : { provider }) };
        return false;
      }
      default:
        return outcome satisfies never;
    }
  }

  /** Whether the list of the job has the person whom a step found. */
  #isSuppressed({ email }: AnyRecord): boolean {
    return this.#suppressed !== null && typeof email === 'string' && this.#suppressed.has(email);
  }

  /** The row holds nothing about the person, and no later step runs. */
  #suppress(inProgress: RecordInProgress): false {
    const { lookups = 0, contributions } = inProgress.result;
    inProgress.result = { ...SUPPRESSED, answers: {}, lookups, ...(contributions === undefined ? {} : { contributions }) };
    return false;
  }

  #noteOpen(result: DraftResult, step: Step, key: string, record: unknown, contributions?: readonly Contribution[]): void {
    const rule = this.#job.waterfalls[step];
    if (contributions === undefined || rule === undefined) return;
    const open = openPart(step, rule, record as Readonly<Record<string, unknown>>, key, contributions);
    if (open !== null) result.open = [...(result.open ?? []), open];
  }
}

/** Whether lookups are about a company, which has its domain as its key. @param key of the one that is meant; else the first */
function isCompany(lookups: Lookups, key?: string): boolean {
  return lookups.find((one) => one !== null && (key === undefined || one.key === key))?.by === 'domain';
}

/** The outcome of a record whose deciding step was skipped: by any other step, and skipped where no step was meant for it. */
function withOutcome(result: DraftResult): DraftResult {
  if (result.outcome === 'failed') return result;
  const isFound = Object.keys(result.answers).length > 0;
  return { ...result, outcome: isFound ? 'matched' : (result.lookups ?? 0) > 0 ? 'no_match' : 'skipped' };
}

/** Lookups that were asked for a record in one step. */
function askedBy(contributions: readonly Contribution[] | undefined): number {
  if (contributions === undefined) return 1;
  let asked = 0;
  for (const { kind } of contributions) if (kind !== 'unavailable') asked++;
  return asked;
}

/** A step that looks records up: the order of the records does not matter. */
function lookingUp(step: Step, at: readonly OpenStep[], rule: Waterfall, namesProviders: boolean): RecordStep {
  const asker = new LookupWaterfall(step, rule, at, namesProviders);
  return {
    step,
    ask: ({ record, listener }, lookups, done) => asker.ask(lookups, done, record, retainedFor(listener)),
    skip: () => undefined,
  };
}

/** A step for verdicts: its requests are filled in the order of the records. */
function verifying(step: Step, turns: VerifyWaterfall): RecordStep {
  return {
    step,
    ask: ({ number, record }, [lookup], done) => {
      const address = lookup as VerifyLookup;
      turns.take(number, { address, origin: record, done: (outcome, contributions) => done(outcome, address.key, contributions) });
    },
    skip: (number) => turns.take(number, null),
  };
}
