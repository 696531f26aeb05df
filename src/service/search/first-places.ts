/** One page of a set of people in an order: the first of them after a place, found chunk by chunk without sorting the others. */
import type { Store } from '../store/store.ts';
import { isEmptyBetween, type Bits } from './bitmap.ts';
import type { Extent } from './columns.ts';
import type { After, Order } from './order.ts';
import { CHUNK } from './packed.ts';
import { compareTexts } from './text-numbers.ts';

const WORDS_A_CHUNK = CHUNK / 32;

export interface Place extends After {
  readonly seq: number;
}

/** The first `limit` of `found` after `after` (null: of all), in order. */
export function firstPlaces(store: Store, found: Bits, order: Order, descending: boolean, after: After | null, limit: number): Place[] {
  return new FirstPlaces(store, order, descending, after, limit).of(found);
}

class FirstPlaces {
  readonly #order: Order;
  readonly #sign: 1 | -1;
  readonly #limit: number;
  readonly #edge: Edge | null;
  readonly #first: Somebody[] = [];
  readonly #read: ReadPlace;

  constructor(store: Store, order: Order, descending: boolean, after: After | null, limit: number) {
    this.#order = order;
    this.#sign = descending ? -1 : 1;
    this.#limit = limit;
    this.#edge = after === null ? null : new Edge(order, after);
    const read = store.prepare('SELECT id, name_key FROM people WHERE seq = ?');
    this.#read = (seq, main) => {
      const row = read.get(seq);
      return { seq, key: order.sort === 'name' ? ((row?.['name_key'] as string | undefined) ?? '') : main, id: (row?.['id'] as string | undefined) ?? '' };
    };
  }

  of(found: Bits): Place[] {
    for (const { chunk, best, bestHead } of this.#chunks(found)) {
      const last = this.#last;
      if (last !== undefined) {
        // The chunks with the best come first: what is behind the last of a full page is behind it in all that follow.
        const worst = this.#sign * last.number(0);
        if (best > worst) break;
        if (best === worst && bestHead > this.#sign * last.number(1)) continue;
      }
      this.#look(found, chunk);
    }
    return this.#first.map(({ place }) => place);
  }

  /** The chunks in which somebody was found who may stand after the edge, those with the best of all first. */
  #chunks(found: Bits): ChunkAhead[] {
    const [main, heads] = this.#order.levels;
    const [extents, headExtents] = [main.extents(), heads.extents()];
    const sign = this.#sign;
    const edge = this.#edge === null ? -Infinity : sign * this.#edge.number(0);
    const chunks: ChunkAhead[] = [];
    for (let from = 0; from < found.length; from += WORDS_A_CHUNK) {
      if (isEmptyBetween(found, from, from + WORDS_A_CHUNK)) continue;
      const chunk = from / WORDS_A_CHUNK;
      const [{ least, most }, head] = [extents.get(chunk) ?? ANYWHERE, headExtents.get(chunk) ?? ANYWHERE];
      // Heads of ids say nothing of equal numbers that are not told apart by them.
      const bestHead = main.isTold(sign === 1 ? least : most) ? sign * (sign === 1 ? head.least : head.most) : -Infinity;
      if (sign * (sign === 1 ? most : least) >= edge) chunks.push({ chunk, best: sign * (sign === 1 ? least : most), bestHead });
    }
    return chunks.sort((one, other) => one.best - other.best || one.bestHead - other.bestHead || 0);
  }

  /** Takes those of a chunk who belong to the first. */
  #look(found: Bits, chunk: number): void {
    const numbers = this.#order.levels[0].chunk(chunk);
    const sign = this.#sign;
    const from = chunk * WORDS_A_CHUNK;
    const edge = this.#edge === null ? -Infinity : sign * this.#edge.number(0);
    let last = this.#last;
    let worst = last === undefined ? Infinity : sign * last.number(0);
    const somebody = new Somebody(this.#order, this.#read);
    for (let word = 0; word < WORDS_A_CHUNK; word++) {
      for (let bits = found[from + word] ?? 0; bits !== 0; bits &= bits - 1) {
        const at = word * 32 + (31 - Math.clz32(bits & -bits));
        const main = numbers[at] ?? 0;
        const number = sign * main;
        if (number > worst || number < edge) continue;
        somebody.become(chunk * CHUNK + at, main);
        if (number === edge && this.#edge !== null && this.#compare(somebody, this.#edge) <= 0) continue;
        if (number === worst && last !== undefined && this.#compare(somebody, last) >= 0) continue;
        this.#insert(somebody.copy());
        last = this.#last;
        worst = last === undefined ? Infinity : sign * last.number(0);
      }
    }
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
    const { levels } = this.#order;
    for (let level = 0; level < levels.length; level++) {
      const number = one.number(level);
      const difference = number - other.number(level);
      if (difference !== 0) return this.#sign * difference;
      if (levels[level]?.isTold(number) !== true) break;
    }
    const [a, b] = [one.place, other.place];
    const byKey = typeof a.key === 'string' && typeof b.key === 'string' ? compareTexts(a.key, b.key) : 0;
    return this.#sign * (byKey || compareTexts(a.id, b.id));
  }
}

interface ChunkAhead {
  readonly chunk: number;
  /** Nobody in it stands before this number, in the direction that is asked for; and nobody with it before this head of an id. */
  readonly best: number;
  readonly bestHead: number;
}

const ANYWHERE: Extent = { least: -Infinity, most: Infinity };

type ReadPlace = (seq: number, main: number) => Place;

/** One of those who were found. What tells them from others is read when it is asked for. */
class Somebody {
  readonly #order: Order;
  readonly #read: ReadPlace;
  readonly #numbers: number[] = [];
  #seq = 0;
  #known = 0;
  #place: Place | null = null;

  constructor(order: Order, read: ReadPlace) {
    this.#order = order;
    this.#read = read;
  }

  become(seq: number, main: number): void {
    this.#seq = seq;
    this.#numbers[0] = main;
    this.#known = 1;
    this.#place = null;
  }

  copy(): Somebody {
    const copy = new Somebody(this.#order, this.#read);
    copy.become(this.#seq, this.#numbers[0] ?? 0);
    return copy;
  }

  /** Asked for level by level. */
  number(level: number): number {
    if (level >= this.#known) {
      this.#numbers[level] = this.#order.levels[level]?.chunk(Math.floor(this.#seq / CHUNK))[this.#seq % CHUNK] ?? 0;
      this.#known = level + 1;
    }
    return this.#numbers[level] ?? 0;
  }

  get place(): Place {
    this.#place ??= this.#read(this.#seq, this.number(0));
    return this.#place;
  }
}

/** Where the page before ended. */
class Edge {
  readonly place: After;
  readonly #numbers: readonly number[];

  constructor(order: Order, place: After) {
    this.place = place;
    this.#numbers = order.levels.map((level) => level.numberOf(place));
  }

  number(level: number): number {
    return this.#numbers[level] ?? 0;
  }
}
