/** fast-check with the seed of the run. The suite tries a third of the cases of each property; `EVERY_CASE=1` tries all. */
import { assert as assertAll, configureGlobal, type IAsyncProperty, type IProperty, type Parameters } from 'fast-check';
import { casesOf } from './sample.ts';
import { SEED } from './seed.ts';

const USUAL_RUNS = 100;

configureGlobal({ seed: SEED, numRuns: suiteRuns(USUAL_RUNS) });

export * from 'fast-check';

/** `assert` of fast-check with the suite's share of `numRuns`. Examples are tried before drawn cases, and always all of them. */
export function assert<T>(property: IAsyncProperty<T>, parameters?: Parameters<T>): Promise<void>;
export function assert<T>(property: IProperty<T>, parameters?: Parameters<T>): void;
export function assert<T>(property: IAsyncProperty<T> | IProperty<T>, parameters: Parameters<T> = {}): Promise<void> | void {
  const { numRuns = USUAL_RUNS, examples = [] } = parameters;
  return assertAll(property as IAsyncProperty<T>, { ...parameters, numRuns: suiteRuns(numRuns) + examples.length });
}

/** A third, and at least one. */
function suiteRuns(all: number): number {
  return casesOf(Math.ceil(all / 3), all);
}
