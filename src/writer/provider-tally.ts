/** The part of each provider in the rows of an output. Counted as rows leave, so that no resume counts a row twice. */
import type { FinishedError, FinishedStep } from '../formats/input-record.ts';
import type { Contribution } from '../processor/contribution.ts';
import type { Step, ByStep } from '../steps/registry.ts';

export interface ProviderCounts {
  /** Lookups of rows, paid for or not. */
  readonly asked: number;
  readonly matched: number;
  readonly missed: number;
  readonly suppressed: number;
  /** Gave no answer after all attempts, or refused the lookup. */
  readonly failed: number;
  /** Not asked, because the run went on without the provider. */
  readonly unavailable: number;
  /** Rows that have something from this provider. */
  readonly rows: number;
  /** Rows for which it was the first to know anything. */
  readonly first: number;
  /** Fields of rows that are from this provider. */
  readonly fields: number;
}

/** By step, then by the job's name of the provider. */
export type ProviderTally = ByStep<Readonly<Record<string, ProviderCounts>>>;

type Counts = { -readonly [K in keyof ProviderCounts]: ProviderCounts[K] };

export const NO_COUNTS: ProviderCounts = {
  asked: 0,
  matched: 0,
  missed: 0,
  suppressed: 0,
  failed: 0,
  unavailable: 0,
  rows: 0,
  first: 0,
  fields: 0,
};

export class ProviderTallying {
  readonly #counts = new Map<Step, Map<string, Counts>>();

  constructor(from: ProviderTally = {}) {
    this.addAll(from);
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  add(contributions: readonly Contribution[]): void {
    for (const one of contributions) {
      const counts = this.#of(one.step, one.provider);
      counts.asked++;
      this.#end(counts, one);
    }
  }

  /**
   * Counts what a retry has brought for a row whose earlier lookups are counted already: they had missed or failed.
   * @param was the row's former line in the errors file
   */
  addRetried(contributions: readonly Contribution[], was: Pick<FinishedError, 'step' | 'code' | 'provider'>): void {
    const failedAt = contributions.findIndex(({ step }) => step === was.step);
    if (failedAt === -1) return;
    for (const one of contributions.slice(failedAt)) {
      const counts = this.#of(one.step, one.provider);
      if (one.step !== was.step) {
        counts.asked++;
      } else if (one.provider === was.provider || one.kind === 'matched') {
        // A provider whose answer is a match now had given none.
        const before = was.code === 'unavailable' || counts.failed === 0 ? 'unavailable' : 'failed';
        if (counts[before] > 0) counts[before]--;
        else counts.asked++;
      } else continue;
      this.#end(counts, one);
    }
  }

  /** The lookups of an open row count no more. */
  take(steps: readonly FinishedStep[]): void {
    for (const { step, providers } of steps) {
      const first = providers.find(({ end }) => end === 'matched');
      for (const one of providers) {
        const { end, fields = 0 } = one;
        const counts = this.#of(step, one.name);
        counts.asked--;
        counts[end as Contribution['kind']]--;
        counts.fields -= fields;
        if (fields > 0) counts.rows--;
        if (one === first) counts.first--;
      }
    }
  }

  addAll(tally: ProviderTally): void {
    for (const [step, providers] of Object.entries(tally) as [Step, Readonly<Record<string, ProviderCounts>>][])
      for (const [provider, counts] of Object.entries(providers)) {
        const own = this.#of(step, provider);
        for (const name of Object.keys(NO_COUNTS) as (keyof ProviderCounts)[]) own[name] += counts[name];
      }
  }

  snapshot(): ProviderTally {
    return Object.fromEntries(
      [...this.#counts].map(([step, providers]) => [
        step,
        Object.fromEntries([...providers].map(([name, counts]) => [name, { ...counts }])),
      ]),
    );
  }

  #end(counts: Counts, { kind, fields, isFirst }: Contribution): void {
    counts[kind]++;
    counts.fields += fields;
    if (fields > 0) counts.rows++;
    if (kind === 'matched' && isFirst) counts.first++;
  }

  #of(step: Step, provider: string): Counts {
    const providers = this.#counts.get(step) ?? new Map<string, Counts>();
    this.#counts.set(step, providers);
    const counts = providers.get(provider) ?? { ...NO_COUNTS };
    providers.set(provider, counts);
    return counts;
  }
}
