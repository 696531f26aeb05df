/** Maps each person's row to the id of the employer's domain, in chunks. So a bitmap of companies becomes a bitmap of people. */
import { prepareRows } from '../../../sqlite/array-rows.ts';
import type { Steps } from '../../../util/steps.ts';
import type { Store } from '../store.ts';
import { AliasReader } from './aliases.ts';
import { and, andNot, popcount32, hasAtMost, isEmptyBetween, rowsIn, setBit, asWords, type Bitmap } from './bitmap.ts';
import { CHUNK } from './packed-chunk.ts';

const WORDS_PER_CHUNK = CHUNK / 32;
/** The id of no domain, */
const NOWHERE = 0;
/** and its bit in the first word of a bitmap. */
const FIRST = 1;

/** Collects new employers of people, and writes each changed chunk once. */
export class EmployerWriter {
  readonly #changes = new Map<number, Map<number, number>>();
  readonly #read;
  readonly #write;

  constructor(store: Store) {
    this.#read = store.prepare('SELECT ids FROM employers WHERE chunk = ?');
    this.#write = store.prepare('INSERT OR REPLACE INTO employers (chunk, ids) VALUES (?, ?)');
  }

  change(person: number, domain: number | null): void {
    const chunk = Math.floor(person / CHUNK);
    let changes = this.#changes.get(chunk);
    if (changes === undefined) {
      changes = new Map();
      this.#changes.set(chunk, changes);
    }
    changes.set(person % CHUNK, domain ?? NOWHERE);
  }

  /** To be called within the transaction of the changes. */
  flush(): void {
    for (const [chunk, changes] of this.#changes) {
      const stored = this.#read.get(chunk)?.['ids'] as Uint8Array | undefined;
      const ids = stored === undefined ? new Uint32Array(CHUNK) : asWords(stored).slice();
      for (const [at, domain] of changes) ids[at] = domain;
      this.#write.run(chunk, new Uint8Array(ids.buffer));
    }
    this.#changes.clear();
  }
}

/** Keeps the people who work at one of `companies`, and those in `people` (may be null). `exclude` removes them instead. */
export interface EmployerFilter {
  readonly companies: Bitmap;
  readonly people: Bitmap | null;
  readonly exclude: boolean;
}

/** Finding the people of a company costs as much as scanning this many chunks of people. */
const CHUNKS_PER_COMPANY = 4;
/** People of a company that are read in one step, and that take one unit of work. */
const [PEOPLE_A_STEP, PEOPLE_A_UNIT] = [1_000, 20];
/** Finding this many people of a company costs as much as scanning one chunk. */
export const PEOPLE_PER_CHUNK_COST = 150;

/** Turns bitmaps of companies into bitmaps of the people who work there. */
export class EmployerReader {
  /** Maps other domains of companies to the company. */
  readonly aliases: AliasReader;
  /** All chunks that were read: four bytes a person. */
  readonly #cache = new Map<number, Uint32Array>();
  readonly #read;
  readonly #peopleAt;

  constructor(store: Store) {
    this.aliases = new AliasReader(store);
    this.#read = prepareRows<[ids: Uint8Array<ArrayBuffer>]>(store, 'SELECT ids FROM employers WHERE chunk = ?');
    this.#peopleAt = prepareRows<[seq: number]>(
      store,
      'SELECT seq FROM domains JOIN people ON company_domain = domain WHERE domains.id = ? AND seq > ? ORDER BY seq LIMIT ?',
    );
  }

  /** The id of each person's employer, for the people of a chunk; 0 for none. */
  chunk(chunk: number): Uint32Array {
    const known = this.#cache.get(chunk);
    if (known !== undefined) return known;
    const stored = this.#read.get(chunk)?.[0];
    const ids = stored === undefined ? NO_EMPLOYERS : asWords(stored);
    this.#cache.set(chunk, ids);
    return ids;
  }

  /** To be called after a write to the store. */
  invalidate(): void {
    this.aliases.invalidate();
    this.#cache.clear();
  }

  /** Rows of the people at a company, by its id. Null when they are more than `most`. */
  *peopleAt(company: number, most: number): Steps<readonly number[] | null> {
    const found: number[] = [];
    for (let after = 0; ;) {
      const rows = this.#peopleAt.all(company, after, PEOPLE_A_STEP);
      for (const [seq] of rows) found.push(seq);
      yield 1 + Math.floor(rows.length / PEOPLE_A_UNIT);
      if (found.length > most) return null;
      if (rows.length < PEOPLE_A_STEP) return found;
      after = found.at(-1) ?? 0;
    }
  }

  /** The employer's id of each person, one after another. */
  *employersOf(people: Bitmap): Generator<number> {
    let known = -1;
    let ids: Uint32Array = NO_EMPLOYERS;
    for (const person of rowsIn(people)) {
      const chunk = Math.floor(person / CHUNK);
      if (chunk !== known) ids = this.chunk(chunk);
      known = chunk;
      yield ids[person % CHUNK] ?? NOWHERE;
    }
  }

  /**
   * Removes from `found` the people that a filter does not keep. It reads only the chunks of `found`. For few companies it looks up their
   * people instead.
   */
  *filter(found: Bitmap, filters: readonly EmployerFilter[]): Steps<void> {
    const chunks: number[] = [];
    for (let from = 0; from < found.length; from += WORDS_PER_CHUNK)
      if (!isEmptyBetween(found, from, from + WORDS_PER_CHUNK)) chunks.push(from / WORDS_PER_CHUNK);
    const canListStaff = (companies: Bitmap): boolean =>
      ((companies[0] ?? 0) & FIRST) === 0 && hasAtMost(companies, chunks.length / CHUNKS_PER_COMPANY);
    const most = chunks.length * PEOPLE_PER_CHUNK_COST;
    const left: EmployerFilter[] = [];
    for (const filter of filters)
      if (!canListStaff(filter.companies) || !(yield* this.#filterByStaff(found, filter, most))) left.push(filter);
    if (left.length === 0) return;
    for (const chunk of chunks) {
      const ids = this.chunk(chunk);
      for (const filter of left) filterChunk(found, chunk * WORDS_PER_CHUNK, ids, filter);
      yield left.length;
    }
  }

  /** Returns false, and changes nothing, when more than `most` people work there. @param filter without company id 0 */
  *#filterByStaff(found: Bitmap, { companies, people, exclude }: EmployerFilter, most: number): Steps<boolean> {
    const met = people?.slice() ?? new Uint32Array(found.length);
    let left = most;
    for (const company of rowsIn(companies)) {
      const staff = yield* this.peopleAt(company, left);
      if (staff === null) return false;
      left -= staff.length;
      for (const person of staff) setBit(met, person);
    }
    if (exclude) andNot(found, met);
    else and(found, met);
    return true;
  }
}

/** Filters the people of a chunk, which begins at the word `first`. */
function filterChunk(found: Bitmap, first: number, ids: Uint32Array, { companies, people, exclude }: EmployerFilter): void {
  for (let word = 0; word < WORDS_PER_CHUNK; word++) {
    const left = found[first + word] ?? 0;
    if (left === 0) continue;
    const met = workingAt(ids, word * 32, companies, left) | (people?.[first + word] ?? 0);
    found[first + word] = left & (exclude ? ~met : met);
  }
}

const NO_EMPLOYERS = new Uint32Array(CHUNK).fill(NOWHERE);

/** Up to this many candidates among 32 rows are looked up one by one; for more, all 32 are. */
const FEW = 12;

/** Which of 32 people of a chunk, from `from` on, work at one of the companies. @param among candidates, as bits */
export function workingAt(ids: Uint32Array, from: number, companies: Bitmap, among: number): number {
  let found = 0;
  if (popcount32(among) <= FEW) {
    for (let word = among; word !== 0; word &= word - 1) {
      const bit = 31 - Math.clz32(word & -word);
      const id = ids[from + bit] ?? NOWHERE;
      found |= (((companies[id >>> 5] ?? 0) >>> (id & 31)) & 1) << bit;
    }
    return found;
  }
  // Four independent loads at a time, so that the processor overlaps their cache misses.
  for (let at = from + 28; at >= from; at -= 4) {
    const a = ids[at] ?? NOWHERE;
    const b = ids[at + 1] ?? NOWHERE;
    const c = ids[at + 2] ?? NOWHERE;
    const d = ids[at + 3] ?? NOWHERE;
    // A shift uses the lowest five bits of its count.
    const four =
      (((companies[a >>> 5] ?? 0) >>> a) & 1) |
      ((((companies[b >>> 5] ?? 0) >>> b) & 1) << 1) |
      ((((companies[c >>> 5] ?? 0) >>> c) & 1) << 2) |
      ((((companies[d >>> 5] ?? 0) >>> d) & 1) << 3);
    found = (found << 4) | four;
  }
  return found & among;
}
