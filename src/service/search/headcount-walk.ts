/** Among whom one page of many people in order of headcount is, found from the side of companies: those next in size are taken until so many who were found work there. */
import { and, countBits, emptyBits, isEmpty, setBit, type Bits } from './bitmap.ts';
import { ANYWHERE, type Extent } from './columns.ts';
import { PEOPLE_A_CHUNK, type EmployerReader } from './employers.ts';
import type { Headcounts } from './headcounts.ts';
import type { Matches } from './matching.ts';
import { extentOf, nextSizes, type NextSizes } from './next-sizes.ts';
import type { PageWanted } from './order.ts';
import { CHUNK } from './packed.ts';
import { NO_HEADCOUNT } from './sort-keys.ts';

/** Finding who works at a company takes as long as looking through so many chunks of people. */
const CHUNKS_A_COMPANY = 2;
/** More companies than would do on the average, */
const TIMES_EXPECTED = 1.5;
const MORE = 4;
/** and so many times as many where too few work there. */
const TIMES_MORE = 4;

export class HeadcountWalk {
  readonly #employers: EmployerReader;
  readonly #headcounts: Headcounts;

  constructor(employers: EmployerReader, headcounts: Headcounts) {
    this.#employers = employers;
    this.#headcounts = headcounts;
  }

  /** Between which the headcounts of all who were found are; of few it is not worth the while to say so. */
  within({ found, total, people, companies }: Matches): Extent {
    if (total <= people / CHUNK) return ANYWHERE;
    const { sizes } = this.#headcounts;
    const { least, most } = extentOf(sizes, companies) ?? { least: 0, most: 0 };
    const isKnown = isEmpty(this.#unknownOf(found));
    return { least: (isKnown ? least : 0) + NO_HEADCOUNT, most: most + NO_HEADCOUNT };
  }

  /** Some of who were found, the first `limit` after `after` among them. Null: to look at all of them takes less. */
  among({ found, total, people, companies }: Matches, { descending, after, limit }: PageWanted): Bits | null {
    const { sizes } = this.#headcounts;
    const most = people / CHUNK / CHUNKS_A_COMPANY;
    const expected = MORE + (TIMES_EXPECTED * limit * (companies === null ? sizes.length : countBits(companies))) / total;
    if (!(expected <= most)) return null;
    const beyond = after === null ? null : Number(after.key) - NO_HEADCOUNT;
    // Whose headcount is not known stand before all others; of those who equal the edge nobody can say yet how many are behind it.
    const some = (descending ? beyond === 0 : beyond === null || beyond === 0) ? this.#unknownOf(found) : emptyBits(found.length * 32);
    const before = beyond === null ? countBits(some) : 0;
    if (before >= limit || (descending && beyond === 0)) return some;
    for (let count = expected; count <= most; count *= TIMES_MORE) {
      const next = nextSizes(sizes, { among: companies, beyond, descending, count, most });
      if (next === null) return null;
      const taken = this.#take(next, found, some, (people / CHUNK) * PEOPLE_A_CHUNK);
      if (taken === null) return null;
      if (before + taken >= limit) return some;
      if (next.areAll) return descending ? null : some;
    }
    return null;
  }

  #unknownOf(found: Bits): Bits {
    return and(this.#headcounts.unknown(found.length), found);
  }

  /** Adds who were found and work there; returns how many of them are behind the edge for certain. Null: more than `most` work there. */
  #take({ companies, equal }: NextSizes, found: Bits, into: Bits, most: number): number | null {
    let [count, left] = [0, most];
    for (const [index, company] of [...equal, ...companies].entries()) {
      const staff = this.#employers.peopleAt(company, left);
      if (staff === null) return null;
      left -= staff.length;
      for (const person of staff) {
        if ((((found[person >>> 5] ?? 0) >>> (person & 31)) & 1) === 0) continue;
        setBit(into, person);
        if (index >= equal.length) count++;
      }
    }
    return count;
  }
}
