/** The totals of the written rows. Rows are counted as they leave, so the totals always match the output. */
import { isOpen, type RecordOutcome, type RecordResult } from '../processor/result.ts';
import type { FinishedError, FinishedOpen, FinishedRow } from '../formats/input-record.ts';
import { NamedCounts } from './named-counts.ts';
import { ProviderTallying, type ProviderTally } from './provider-tally.ts';

export interface Tally {
  readonly total: number;
  /** `skipped` is left out while it is 0. */
  readonly outcomes: Readonly<Record<Exclude<RecordOutcome, 'skipped'>, number>> & { readonly skipped?: number };
  /** Rows by `verify.result`, without rows that failed at a later step: a retry replaces them and cannot know their old verdict. */
  readonly verification: Readonly<Record<string, number>>;
  /** `failed` and `invalid` rows by `<step>:<code>`, see `errorName`. Optional in older checkpoints. */
  readonly errors?: Readonly<Record<string, number>>;
  /** Lookups that the rows needed, paid for or not. Left out for 0. */
  readonly lookups?: number;
  /** Rows that lack a field because a provider gave no answer. Left out for 0. */
  readonly open?: number;
  /** The part of `outcomes` that is about companies: records that were looked up by their domain. Left out without one. */
  readonly companies?: KindCounts;
  /** Rows that skipped a step by its condition, by step. Left out without one. */
  readonly unmeant?: Readonly<Record<string, number>>;
  /** Left out for a job with one service. */
  readonly providers?: ProviderTally;
}

/** Records of one kind that were answered. */
export type KindCounts = Readonly<Pick<Record<RecordOutcome, number>, 'matched' | 'no_match'>>;

/** The step of a record that no step was asked for. */
const NO_STEP = 'input';

/** The name `<step>:<code>`. A step's name has no colon. */
function errorName(step: string | null, code: string): string {
  return `${step ?? NO_STEP}:${code}`;
}

export const EMPTY_TALLY: Tally = {
  total: 0,
  outcomes: { matched: 0, no_match: 0, invalid: 0, suppressed: 0, failed: 0 },
  verification: {},
};

/** Rows that a retry asks for. */
export function leftToRetry({ outcomes: { failed }, open = 0 }: Pick<Tally, 'outcomes' | 'open'>): number {
  return failed + open;
}

export class Tallying {
  #total: number;
  readonly #outcomes: Record<RecordOutcome, number>;
  readonly #verification: NamedCounts;
  readonly #unmeant: NamedCounts;
  #hasUnmeant: boolean;
  readonly #errors: NamedCounts;
  readonly #providers: ProviderTallying;
  #lookups: number;
  #open: number;
  readonly #companies: { matched: number; no_match: number };

  constructor(from: Tally) {
    this.#total = from.total;
    this.#outcomes = { skipped: 0, ...from.outcomes };
    this.#verification = new NamedCounts(from.verification);
    this.#unmeant = new NamedCounts(from.unmeant ?? {});
    this.#hasUnmeant = from.unmeant !== undefined;
    this.#errors = new NamedCounts(from.errors);
    this.#lookups = from.lookups ?? 0;
    this.#open = from.open ?? 0;
    this.#companies = { matched: 0, no_match: 0, ...from.companies };
    this.#providers = new ProviderTallying(from.providers);
  }

  add(result: RecordResult): void {
    this.#add(result);
    if (result.contributions !== undefined) this.#providers.add(result.contributions);
    for (const step of result.unmeant ?? []) {
      this.#hasUnmeant = true;
      this.#unmeant.add(step, 1);
    }
  }

  #add(result: RecordResult): void {
    this.#total++;
    this.#outcomes[result.outcome]++;
    this.#lookups += result.lookups ?? 0;
    if (isOpen(result)) this.#open++;
    if (result.isCompany === true) this.#countCompany(result.outcome, 1);
    const { outcome, error, failure, answers } = result;
    const verify = answers['verify'];
    if (outcome === 'failed' || outcome === 'invalid') this.#errors.add(errorName(failure?.step ?? null, failure?.code ?? error ?? ''), 1);
    if (verify !== undefined && outcome !== 'failed') this.#verification.add(String(verify.record['result']), 1);
  }

  /** Counts a row that a retry has replaced. @param was its lines in the files beside the former output */
  replace(result: RecordResult, { error, open }: Pick<FinishedRow, 'error' | 'open'>): void {
    if (open === null) {
      this.#replaceFailed(result, error);
      return;
    }
    this.#take(open);
    this.#add(result);
    if (result.contributions !== undefined) this.#providers.add(result.contributions);
  }

  #countCompany(outcome: RecordOutcome, times: 1 | -1): void {
    if (outcome === 'matched' || outcome === 'no_match') this.#companies[outcome] += times;
  }

  /** An open row counts no more. */
  #take({ outcome, kind, verdict, steps }: FinishedOpen): void {
    this.#total--;
    this.#open--;
    this.#outcomes[outcome as RecordOutcome]--;
    if (kind === 'company') this.#countCompany(outcome as RecordOutcome, -1);
    if (verdict !== null) this.#verification.takeOne(verdict);
    this.#lookups -= steps.flatMap(({ providers }) => providers).filter(({ end }) => end !== 'unavailable').length;
    this.#providers.take(steps);
  }

  #replaceFailed(result: RecordResult, was: Pick<FinishedError, 'step' | 'code' | 'provider'> | null): void {
    this.#total--;
    this.#outcomes.failed--;
    // The failed row had counted its lookups.
    this.#lookups -= result.lookups ?? 0;
    if (was !== null) this.#errors.takeOne(errorName(was.step, was.code));
    this.#add(result);
    if (result.contributions !== undefined && was !== null) this.#providers.addRetried(result.contributions, was);
  }

  /** Adds totals that were counted elsewhere. */
  addAll({ total, outcomes, verification, errors = {}, lookups = 0, open = 0, companies, unmeant = {}, providers = {} }: Tally): void {
    this.#hasUnmeant ||= Object.keys(unmeant).length > 0;
    this.#unmeant.addAll(unmeant);
    this.#providers.addAll(providers);
    this.#open += open;
    this.#companies.matched += companies?.matched ?? 0;
    this.#companies.no_match += companies?.no_match ?? 0;
    this.#total += total;
    this.#lookups += lookups;
    for (const outcome of Object.keys(outcomes) as RecordOutcome[]) this.#outcomes[outcome] += outcomes[outcome] ?? 0;
    this.#verification.addAll(verification);
    this.#errors.addAll(errors);
  }

  snapshot(): Tally {
    const { skipped, ...others } = this.#outcomes;
    return {
      total: this.#total,
      outcomes: skipped === 0 ? others : { ...others, skipped },
      verification: this.#verification.snapshot(),
      errors: this.#errors.snapshot(),
      ...(this.#lookups === 0 ? {} : { lookups: this.#lookups }),
      ...(this.#open === 0 ? {} : { open: this.#open }),
      ...(this.#hasUnmeant ? { unmeant: this.#unmeant.snapshot() } : {}),
      ...(this.#companies.matched + this.#companies.no_match === 0 ? {} : { companies: { ...this.#companies } }),
      ...(this.#providers.isEmpty ? {} : { providers: this.#providers.snapshot() }),
    };
  }
}
