/** One page of a set of people in an order: the first of them after a place, found chunk by chunk without sorting the others. */
import type { Store } from '../store/store.ts';
import { hasAtMost, isEmptyBetween, type Bits } from './bitmap.ts';
import type { EmployerReader } from './employers.ts';
import type { AtHand } from './column-range.ts';
import { ANYWHERE, type Extent } from './columns.ts';
import { NameWalk } from './name-walk.ts';
import { NO_EXTENTS, Orders, type Order, type PageWanted } from './order.ts';
import { CHUNK, codesWithin, type Coded } from './packed.ts';
import { HeadcountWalk } from './headcount-walk.ts';
import type { Matches } from './matching.ts';
import type { Sort } from './sort-keys.ts';
import { Edge, Somebody, type Place, type ReadPlace } from './standing.ts';
import { compareTexts } from './text-numbers.ts';

const WORDS_A_CHUNK = CHUNK / 32;
/** Chunks whose extents are read while one chunk is. */
const FEW = 8;
/** So many rows are read sooner than a chunk of a column that is not kept. */
const FEW_ROWS = 3;

export interface Wanted extends PageWanted {
  readonly sort: Sort;
}

/** Finds the first `limit` of a set after `after`, in order. */
export class PageFinder {
  readonly #orders: Orders;
  readonly #names: NameWalk;
  readonly #headcounts: HeadcountWalk;
  readonly #read;

  constructor(store: Store, employers: EmployerReader) {
    this.#orders = new Orders(store, employers);
    this.#names = new NameWalk(store);
    this.#headcounts = new HeadcountWalk(employers, this.#orders.headcounts);
    this.#read = store.prepare('SELECT id, name_key FROM people WHERE seq = ?');
  }

  /** Numbers by which people are sorted, which are there to search by as well. */
  get atHand(): Readonly<Record<'people' | 'companies', AtHand>> {
    return this.#orders.atHand;
  }

  /** The store has changed, and `employers` was told. */
  forget(): void {
    this.#orders.forget();
  }

  /** As the store is at this moment, but for what is kept until `forget`. */
  first(matches: Matches, wanted: Wanted): Place[] {
    if (matches.total === 0) return [];
    const walked = wanted.sort === 'name' ? this.#names.first(matches, wanted) : null;
    if (walked !== null) return walked;
    const read = (seq: number, main: number): Place => {
      const row = this.#read.get(seq);
      return { seq, key: wanted.sort === 'name' ? ((row?.['name_key'] as string | undefined) ?? '') : main, id: (row?.['id'] as string | undefined) ?? '' };
    };
    const order = this.#orders.of(wanted.sort);
    const some = wanted.sort === 'headcount' ? this.#headcounts.among(matches, wanted) : null;
    const within = wanted.sort === 'headcount' && some === null ? this.#headcounts.within(matches) : ANYWHERE;
    return new FirstPlaces(order, wanted, read, within).of(some ?? matches.found);
  }
}

class FirstPlaces {
  readonly #order: Order;
  readonly #sign: 1 | -1;
  readonly #limit: number;
  readonly #edge: Edge | null;
  readonly #first: Somebody[] = [];
  readonly #read: ReadPlace;
  readonly #within: Extent;
  readonly #between = new Uint16Array(CHUNK);

  /** @param within between which the numbers are that are sorted by, where it is not known of each chunk */
  constructor(order: Order, { descending, after, limit }: Wanted, read: ReadPlace, within: Extent) {
    this.#order = order;
    this.#sign = descending ? -1 : 1;
    this.#limit = limit;
    this.#edge = after === null ? null : new Edge(order, after);
    this.#read = read;
    this.#within = within;
  }

  of(found: Bits): Place[] {
    for (const ahead of this.#chunks(found)) {
      const last = this.#last;
      // The chunks with the best come first: what is behind the last of a full page is behind it in all that follow.
      if (last !== undefined && ahead.best > this.#sign * last.number(0)) break;
      if (last === undefined || ahead.best < this.#sign * last.number(0) || !this.#areBehind(ahead, last)) this.#look(found, ahead);
    }
    return this.#first.map(({ place }) => place);
  }

  /** The chunks in which somebody was found who may stand after the edge, those with the best of all first. */
  #chunks(found: Bits): ChunkAhead[] {
    const { main, next: [next] } = this.#order;
    const sign = this.#sign;
    const edge = this.#edge === null ? -Infinity : sign * this.#edge.number(0);
    const inhabited: number[] = [];
    for (let from = 0; from < found.length; from += WORDS_A_CHUNK) if (!isEmptyBetween(found, from, from + WORDS_A_CHUNK)) inhabited.push(from / WORDS_A_CHUNK);
    // A few are looked at sooner than it is said what is in all of them.
    const areFew = inhabited.length * FEW <= found.length / WORDS_A_CHUNK;
    const [extents, nextExtents] = areFew ? [NO_EXTENTS, NO_EXTENTS] : [main.extents(), next.extents()];
    const chunks: ChunkAhead[] = [];
    for (const chunk of inhabited) {
      const [best, worst] = inDirection(extents.get(chunk) ?? this.#within, sign);
      const [bestNext, worstNext] = inDirection(nextExtents.get(chunk) ?? ANYWHERE, sign);
      const ahead = { chunk, best: Math.max(best, edge), bestNext, worstNext };
      // Numbers are whole ones: none is before half of one further on.
      if (this.#edge !== null && ahead.best === edge && this.#areBefore(ahead, this.#edge)) ahead.best += 1 / 2;
      if (worst >= ahead.best) chunks.push(ahead);
    }
    return chunks.sort((one, other) => compareNumbers(one.best, other.best) || compareNumbers(one.bestNext, other.bestNext));
  }

  /** Whether those of a chunk who equal somebody in what is sorted by are all behind them. */
  #areBehind({ bestNext }: ChunkAhead, somebody: Somebody | Edge): boolean {
    return this.#order.main.isTold(somebody.number(0)) && bestNext > this.#sign * somebody.number(1);
  }

  #areBefore({ worstNext }: ChunkAhead, somebody: Somebody | Edge): boolean {
    return this.#order.main.isTold(somebody.number(0)) && worstNext < this.#sign * somebody.number(1);
  }

  /** Takes those of a chunk who belong to the first. */
  #look(found: Bits, ahead: ChunkAhead): void {
    const { chunk } = ahead;
    if (this.#order.main.isRead && hasAtMost(found.subarray(chunk * WORDS_A_CHUNK, (chunk + 1) * WORDS_A_CHUNK), FEW_ROWS)) {
      this.#lookAtEach(found, chunk);
      return;
    }
    const sign = this.#sign;
    const [from, to] = [this.#edge?.number(0) ?? -sign * Infinity, this.#last?.number(0) ?? sign * Infinity];
    const { least, unit, codes } = this.#order.main.chunk(chunk, found, Math.min(from, to), Math.max(from, to));
    const codeOf = (one: Somebody | Edge | null | undefined, open: number): number => (one === null || one === undefined ? open : (one.number(0) - least) / unit + 1);
    const edge = codeOf(this.#edge, -sign * Infinity);
    // Codes are whole numbers: half of one further on leaves out those who equal the edge.
    const isBeforeEdge = this.#edge !== null && Number.isInteger(edge) && this.#areBefore(ahead, this.#edge);
    const first = isBeforeEdge ? edge + sign / 2 : edge;
    const isAfterEdge = this.#edge !== null && this.#areBehind(ahead, this.#edge);
    let worst = codeOf(this.#last, sign * Infinity);
    const somebody = new Somebody(this.#order, this.#read);
    const count = between(codes, found, chunk * WORDS_A_CHUNK, Math.min(first, worst), Math.max(first, worst), this.#between);
    for (let i = 0; i < count; i++) {
      const at = this.#between[i] ?? 0;
      const code = codes[at] ?? 0;
      if (sign === 1 ? code > worst : code < worst) continue;
      somebody.become(chunk * CHUNK + at, least + (code - 1) * unit, count > FEW_ROWS);
      if (code === edge && !isAfterEdge && this.#isUpToEdge(somebody)) continue;
      if (code === worst && this.#isBehindLast(somebody, ahead)) continue;
      this.#insert(somebody.copy());
      worst = codeOf(this.#last, worst);
    }
  }

  /** The same for few of a chunk, by their rows alone. */
  #lookAtEach(found: Bits, chunk: number): void {
    for (let word = chunk * WORDS_A_CHUNK; word < (chunk + 1) * WORDS_A_CHUNK; word++) {
      for (let left = found[word] ?? 0; left !== 0; left &= left - 1) {
        const place = this.#read(word * 32 + 31 - Math.clz32(left & -left), 0);
        const somebody = new Somebody(this.#order, () => place, place.seq, [this.#order.main.numberOf(place)]);
        if (this.#isUpToEdge(somebody)) continue;
        const last = this.#last;
        if (last === undefined || this.#compare(somebody, last) < 0) this.#insert(somebody);
      }
    }
  }

  #isUpToEdge(somebody: Somebody): boolean {
    return this.#edge !== null && this.#compare(somebody, this.#edge) <= 0;
  }

  /** Of somebody who equals the last of a full page in what is sorted by. */
  #isBehindLast(somebody: Somebody, ahead: ChunkAhead): boolean {
    const last = this.#last;
    return last !== undefined && (this.#areBehind(ahead, last) || this.#compare(somebody, last) >= 0);
  }

  /** Of a full page; undefined while there is room for everybody. */
  get #last(): Somebody | undefined {
    return this.#first.length < this.#limit ? undefined : this.#first.at(-1);
  }

  #insert(somebody: Somebody): void {
    const first = this.#first;
    let [low, high] = [0, first.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(somebody, first[middle] as Somebody) < 0) high = middle;
      else low = middle + 1;
    }
    first.splice(low, 0, somebody);
    if (first.length > this.#limit) first.pop();
  }

  #compare(one: Somebody, other: Somebody | Edge): number {
    const { main, next } = this.#order;
    for (let level = 0; level <= next.length; level++) {
      const number = one.number(level);
      const difference = number - other.number(level);
      if (difference !== 0) return this.#sign * difference;
      if ((level === 0 ? main : next[level - 1])?.isTold(number) !== true) break;
    }
    const [a, b] = [one.place, other.place];
    const byKey = typeof a.key === 'string' && typeof b.key === 'string' ? compareTexts(a.key, b.key) : 0;
    return this.#sign * (byKey || compareTexts(a.id, b.id));
  }
}

/** A chunk, and between what everybody in it who is behind the edge stands in the direction that is asked for: nobody comes before the best. */
interface ChunkAhead {
  readonly chunk: number;
  readonly best: number;
  /** Of those who are equal in that. */
  readonly bestNext: number;
  readonly worstNext: number;
}

/** Which rows of a chunk were found and have a code from `low` to `high`, into `into`; returns how many. */
function between(codes: Coded['codes'], found: Bits, fromWord: number, low: number, high: number, into: Uint16Array): number {
  let count = 0;
  for (let word = 0; word < WORDS_A_CHUNK; word++) {
    const bits = found[fromWord + word] ?? 0;
    if (bits === 0) continue;
    for (let left = bits & codesWithin(codes, word * 32, low, high); left !== 0; left &= left - 1) into[count++] = word * 32 + 31 - Math.clz32(left & -left);
  }
  return count;
}

function compareNumbers(one: number, other: number): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function inDirection({ least, most }: Extent, sign: 1 | -1): readonly [best: number, worst: number] {
  return sign === 1 ? [least, most] : [-most, -least];
}
