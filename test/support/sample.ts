/**
 * Samples alike cases: each run of the suite takes a few of them, chosen by the seed of the run (`seed.ts`). `EVERY_CASE=1`
 * takes all.
 */
import { seeded } from './leads.ts';
import { SEED } from './seed.ts';

/** The number of runs of a slow property: `some` in each run of the suite, `all` in a sweep. */
export function casesOf(some: number, all: number): number {
  return process.env['EVERY_CASE'] === '1' ? all : some;
}

/** `count` items of `all`, in their order. */
export function sampleOf<T>(all: readonly T[], count: number, seed: number = SEED): readonly T[] {
  if (process.env['EVERY_CASE'] === '1') return all;
  const random = seeded(seed);
  const chosen = new Set(
    all
      .map((_, i) => ({ i, at: random() }))
      .toSorted((a, b) => a.at - b.at)
      .slice(0, count)
      .map(({ i }) => i),
  );
  return all.filter((_, i) => chosen.has(i));
}
