import type { Steps } from '../../util/steps.ts';
import type { Bitmap } from '../store/index/bitmap.ts';

/** A predicate that runs on a block of rows or on a single row. */
export interface CompiledPredicate {
  /** Estimate of the rows that match. */
  readonly rowEstimate: number;
  /** Upper bound of the posting blocks that it reads. */
  readonly blockCost: number;
  /** Upper bound of the searches in a row's term list that `matches` makes. */
  readonly probeCost: number;
  /** Adds the matching rows of a block to a bitmap of that block. Rows outside `among` may be added or not. */
  addTo(block: number, into: Bitmap, among: Bitmap): Steps<void>;
  /** Whether a row matches. @param terms ids of the row's terms, ascending */
  matches(row: number, terms: Uint32Array): boolean;
}
