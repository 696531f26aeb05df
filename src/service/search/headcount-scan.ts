/** Ordered scan by headcount: takes companies in order of size until enough of the people found work there. */
import type { Steps } from '../../util/steps.ts';
import { and, countBits, emptyBitmap, isEmptyBitmap, setBit, type Bitmap } from '../store/index/bitmap.ts';
import { PEOPLE_PER_CHUNK_COST, type EmployerReader } from '../store/index/employers.ts';
import { CHUNK } from '../store/index/packed-chunk.ts';
import { ANY_VALUE, type Zone } from '../store/index/sort-columns.ts';
import { NO_HEADCOUNT } from '../store/index/sort-keys.ts';
import { nextBySize, zoneOfSizes, type NextBySize } from './companies-by-size.ts';
import type { Headcounts } from './headcounts.ts';
import type { Matches } from './matcher.ts';
import type { PageQuery } from './sort-orders.ts';

/** Finding the people of a company costs as much as reading this many chunks of people. */
const CHUNKS_PER_COMPANY = 2;
/** The first attempt takes more companies than the mean says, */
const MARGIN_FACTOR = 1.5;
const MARGIN = 4;
/** and each further attempt takes this many times as many. */
const GROWTH = 4;
/** Comparing this many sizes takes one unit of work. */
const SIZES_A_UNIT = 10_000;

export class HeadcountScan {
  readonly #employers: EmployerReader;
  readonly #headcounts: Headcounts;

  constructor(employers: EmployerReader, headcounts: Headcounts) {
    this.#employers = employers;
    this.#headcounts = headcounts;
  }

  /** The range of headcounts of all people found. For few people it is not worth computing. */
  *zoneOf({ found, total, people, companies }: Matches): Steps<Zone> {
    if (total <= people / CHUNK) return ANY_VALUE;
    const { sizes } = this.#headcounts;
    const { least, most } = zoneOfSizes(sizes, companies) ?? { least: 0, most: 0 };
    yield Math.ceil(sizes.length / SIZES_A_UNIT);
    const areAllKnown = isEmptyBitmap(yield* this.#unknownAmong(found));
    return { least: (areAllKnown ? least : 0) + NO_HEADCOUNT, most: most + NO_HEADCOUNT };
  }

  /** A subset of the people found that contains the whole page. Null when reading the columns costs less. */
  *candidates({ found, total, people, companies }: Matches, { descending, after, limit }: PageQuery): Steps<Bitmap | null> {
    yield* this.#headcounts.prepare();
    const { sizes } = this.#headcounts;
    const most = people / CHUNK / CHUNKS_PER_COMPANY;
    const expected = MARGIN + (MARGIN_FACTOR * limit * (companies === null ? sizes.length : countBits(companies))) / total;
    if (!(expected <= most)) return null;
    const cursor = after === null ? null : Number(after.key) - NO_HEADCOUNT;
    // Unknown headcounts come before all others. How many of the cursor's equals are behind it is unknown, so they are not counted.
    const subset = (descending ? cursor === 0 : cursor === null || cursor === 0)
      ? yield* this.#unknownAmong(found)
      : emptyBitmap(found.length * 32);
    const counted = cursor === null ? countBits(subset) : 0;
    if (counted >= limit || (descending && cursor === 0)) return subset;
    for (let count = expected; count <= most; count *= GROWTH) {
      const next = nextBySize(sizes, { among: companies, cursor, descending, count, most });
      yield Math.ceil(sizes.length / SIZES_A_UNIT);
      if (next === null) return null;
      const added = yield* this.#addStaff(next, found, subset, (people / CHUNK) * PEOPLE_PER_CHUNK_COST);
      if (added === null) return null;
      if (counted + added >= limit) return subset;
      if (next.isLast) return descending ? null : subset;
    }
    return null;
  }

  *#unknownAmong(found: Bitmap): Steps<Bitmap> {
    return and(yield* this.#headcounts.unknown(found.length), found);
  }

  /** Adds the people found at these companies. Returns how many are behind the cursor; null when more than `most` work there. */
  *#addStaff({ companies, atCursor }: NextBySize, found: Bitmap, into: Bitmap, most: number): Steps<number | null> {
    let [count, left] = [0, most];
    for (const [index, company] of [...atCursor, ...companies].entries()) {
      const staff = yield* this.#employers.peopleAt(company, left);
      if (staff === null) return null;
      left -= staff.length;
      for (const person of staff) {
        if ((((found[person >>> 5] ?? 0) >>> (person & 31)) & 1) === 0) continue;
        setBit(into, person);
        if (index >= atCursor.length) count++;
      }
    }
    return count;
  }
}
