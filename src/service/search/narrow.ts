/** Takes out of a set of rows whoever does not meet what is asked, looking at no more than is left. */
import { and, andNot, emptyBits, BLOCK, hasAtMost, isEmpty, numbersIn, type Bits } from './bitmap.ts';
import type { Criterion } from './criteria.ts';

export interface Demand {
  readonly criterion: Criterion;
  /** Rows that meet it are taken out. */
  readonly exclude: boolean;
}

const WORDS_A_BLOCK = BLOCK / 32;
/** Reading the terms of one row takes about as long as reading a block, */
const ROW_COST = 1;
/** and looking for one of them a small part of that. */
const SEARCH_COST = 1 / 16;

/** @param found whole blocks, changed in place @param size about how many rows there are in all @param termsOf the numbers of a row's terms, in order */
export function narrow(found: Bits, demands: readonly Demand[], size: number, termsOf: (row: number) => Uint32Array): void {
  const left = [...demands].sort((one, other) => priority(one, size) - priority(other, size));
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const rest = [next, ...left];
    if (hasAtMost(found, costOf(rest, 'cost') / (ROW_COST + SEARCH_COST * costOf(rest, 'rowCost')))) {
      byRow(found, rest, termsOf);
      return;
    }
    byBlock(found, next);
  }
}

function costOf(demands: readonly Demand[], of: 'cost' | 'rowCost'): number {
  return demands.reduce((sum, { criterion }) => sum + criterion[of], 0);
}

/** First what costs little for each row that it takes out. */
function priority({ criterion: { about, cost }, exclude }: Demand, size: number): number {
  const share = Math.min(1, about / size);
  return (cost + 1) / (exclude ? share + 0.01 : 1.01 - share);
}

function byRow(found: Bits, demands: readonly Demand[], termsOf: (row: number) => Uint32Array): void {
  for (const row of numbersIn(found)) {
    const terms = termsOf(row);
    if (!demands.every(({ criterion, exclude }) => criterion.meets(row, terms) !== exclude)) found[row >>> 5] = (found[row >>> 5] ?? 0) & ~(1 << (row & 31));
  }
}

function byBlock(found: Bits, { criterion, exclude }: Demand): void {
  const rows = emptyBits(BLOCK);
  for (let block = 0; block * WORDS_A_BLOCK < found.length; block++) {
    const among = found.subarray(block * WORDS_A_BLOCK, (block + 1) * WORDS_A_BLOCK);
    if (isEmpty(among)) continue;
    rows.fill(0);
    criterion.addTo(block, rows, among);
    if (exclude) andNot(among, rows);
    else and(among, rows);
  }
}
