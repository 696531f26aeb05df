/**
 * A few of many alike cases in each run of the suite, others with each seed, so that it stays short and all of them are met
 * over a few runs. `EVERY_CASE=1` takes all; `SAMPLE_SEED=123` takes those again that a run of that seed took.
 */
import { seeded } from './leads.ts';

/** Told in the names of the tests that are sampled. */
export const SAMPLE_SEED = Number(process.env['SAMPLE_SEED'] ?? Date.now() % 1_000_000);

/** How many cases a property takes whose cases are slow: `some` in each run of the suite, `all` in a sweep. */
export function casesOf(some: number, all: number): number {
  return process.env['EVERY_CASE'] === '1' ? all : some;
}

/** `count` of `all`, in their order. */
export function sampleOf<T>(all: readonly T[], count: number, seed: number = SAMPLE_SEED): readonly T[] {
  if (process.env['EVERY_CASE'] === '1') return all;
  const random = seeded(seed);
  const chosen = new Set(all.map((_, i) => ({ i, at: random() })).toSorted((a, b) => a.at - b.at).slice(0, count).map(({ i }) => i));
  return all.filter((_, i) => chosen.has(i));
}
