/** Intersects a bitmap of rows with predicates, cheapest first. A block without rows left is not read again. */
import type { Steps } from '../../util/steps.ts';
import { and, andNot, BLOCK, emptyBitmap, hasAtMost, isEmptyBitmap, rowsIn, type Bitmap } from '../store/index/bitmap.ts';
import type { CompiledPredicate } from './compiled-predicate.ts';

export interface PredicateStep {
  readonly compiled: CompiledPredicate;
  /** The step removes the rows that match. */
  readonly exclude: boolean;
}

const WORDS_PER_BLOCK = BLOCK / 32;
/** Reading the term list of a row costs as much as reading one block. */
const ROW_COST = 1;
/** A search in that list costs a fraction of it. */
const PROBE_COST = 1 / 16;
/** This many searches in the list take one unit of work. */
const PROBES_A_UNIT = 100;

/**
 * Removes the rows that fail a step. Once reading the terms of the remaining rows costs less than reading blocks, it checks row by row.
 * @param found complete blocks, changed in place
 * @param rowCount estimate of all rows
 * @param termsOf ids of a row's terms, ascending
 */
export function* intersect(
  found: Bitmap,
  steps: readonly PredicateStep[],
  rowCount: number,
  termsOf: (row: number) => Uint32Array,
): Steps<void> {
  const left = [...steps].sort((one, other) => costPerRemovedRow(one, rowCount) - costPerRemovedRow(other, rowCount));
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const rest = [next, ...left];
    if (hasAtMost(found, total(rest, 'blockCost') / (ROW_COST + PROBE_COST * total(rest, 'probeCost')))) {
      yield* intersectByRow(found, rest, termsOf);
      return;
    }
    yield* intersectByBlock(found, next);
  }
}

function total(steps: readonly PredicateStep[], of: 'blockCost' | 'probeCost'): number {
  return steps.reduce((sum, { compiled }) => sum + compiled[of], 0);
}

function costPerRemovedRow({ compiled: { rowEstimate, blockCost }, exclude }: PredicateStep, rowCount: number): number {
  const selectivity = Math.min(1, rowEstimate / rowCount);
  return (blockCost + 1) / (exclude ? selectivity + 0.01 : 1.01 - selectivity);
}

function* intersectByRow(found: Bitmap, steps: readonly PredicateStep[], termsOf: (row: number) => Uint32Array): Steps<void> {
  const work = 1 + Math.floor(total(steps, 'probeCost') / PROBES_A_UNIT);
  for (const row of rowsIn(found)) {
    const terms = termsOf(row);
    if (!steps.every(({ compiled, exclude }) => compiled.matches(row, terms) !== exclude))
      found[row >>> 5] = (found[row >>> 5] ?? 0) & ~(1 << (row & 31));
    yield work;
  }
}

function* intersectByBlock(found: Bitmap, { compiled, exclude }: PredicateStep): Steps<void> {
  const rows = emptyBitmap(BLOCK);
  for (let block = 0; block * WORDS_PER_BLOCK < found.length; block++) {
    const among = found.subarray(block * WORDS_PER_BLOCK, (block + 1) * WORDS_PER_BLOCK);
    if (isEmptyBitmap(among)) continue;
    rows.fill(0);
    yield* compiled.addTo(block, rows, among);
    if (exclude) andNot(among, rows);
    else and(among, rows);
  }
}
