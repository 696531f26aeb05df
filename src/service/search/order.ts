/** An order of people as columns of numbers, each of which tells apart whom those before it do not. */
import type { Store } from '../store/store.ts';
import type { Bits } from './bitmap.ts';
import { ColumnReader, type ColumnName, type Extent } from './columns.ts';
import { EmployerReader } from './employers.ts';
import { CHUNK, type Coded } from './packed.ts';
import { NO_HEADCOUNT, type Sort } from './sort-keys.ts';
import { idNumbers, isToldId, isToldName, isWholeName, nameNumbers } from './text-numbers.ts';

/** Where a page ended: the next begins after it, whatever was added or removed meanwhile. */
export interface After {
  readonly key: string | number;
  readonly id: string;
}

interface AnyLevel {
  /** Between which each chunk's numbers are, where that is known. */
  extents(): ReadonlyMap<number, Extent>;
  /** What somebody at this place would have. */
  numberOf(place: After): number;
  /** Of two with this number, whether the next level says which is first; otherwise only what the numbers were made of does. */
  isTold(number: number): boolean;
}

export interface MainLevel extends AnyLevel {
  /** The numbers of a chunk's rows, those in `among` at least. They hold until another chunk is read. */
  chunk(chunk: number, among: Bits): Coded;
}

export interface Level extends AnyLevel {
  chunk(chunk: number): Coded;
}

/** What is sorted by, and what comes next where that is equal: the rest of a name, and the two parts of ids, which break ties. */
export interface Order {
  readonly main: MainLevel;
  readonly next: readonly [Level, ...Level[]];
}

export const NO_EXTENTS: ReadonlyMap<number, Extent> = new Map();

export class Orders {
  readonly #orders: Readonly<Record<Sort, Order>>;
  readonly #forget: () => void;

  constructor(store: Store) {
    const columns: ColumnReader[] = [];
    const level = (name: ColumnName, numberOf: Level['numberOf'], isTold: Level['isTold'] = () => true): Level => {
      const column = new ColumnReader(store, name);
      columns.push(column);
      return { chunk: (chunk) => column.chunk(chunk), extents: () => column.extents(), numberOf, isTold };
    };
    const ids = [level('person_id_heads', ({ id }) => idNumbers(id)[0], isToldId), level('person_id_tails', ({ id }) => idNumbers(id)[1], isToldId)] as const;
    const headcounts = new Headcounts(store);
    this.#orders = {
      relevance: { main: level('person_ranks', keyNumber), next: ids },
      updated_at: { main: level('person_times', keyNumber), next: ids },
      name: {
        main: level('person_name_heads', ({ key }) => nameNumbers(String(key))[0], isToldName),
        next: [level('person_name_tails', ({ key }) => nameNumbers(String(key))[1], isWholeName), ...ids],
      },
      headcount: { main: headcounts, next: ids },
    };
    this.#forget = () => {
      for (const column of columns) column.forget();
      headcounts.forget();
    };
  }

  /** As the store is at this moment. Only the last that was asked for holds. */
  of(sort: Sort): Order {
    this.#forget();
    return this.#orders[sort];
  }
}

const keyNumber = ({ key }: After): number => Number(key);

/** What a company has is not written to all who work there: their company's number leads to it. */
class Headcounts implements MainLevel {
  readonly #employers: EmployerReader;
  readonly #column: ColumnReader;
  readonly #codes = new Float64Array(CHUNK);
  /** Of each company its size and one more, 0 where none is known; NaN until it is asked for. */
  #sizes: Float64Array | null = null;

  constructor(store: Store) {
    this.#employers = new EmployerReader(store);
    this.#column = new ColumnReader(store, 'company_sizes');
  }

  forget(): void {
    this.#column.forget();
    this.#sizes = null;
  }

  chunk(chunk: number, among: Bits): Coded {
    this.#sizes ??= new Float64Array((Math.max(0, ...this.#column.extents().keys()) + 1) * CHUNK).fill(NaN);
    const [sizes, codes, ids] = [this.#sizes, this.#codes, this.#employers.chunk(chunk)];
    for (let at = 0; at < CHUNK; at++) {
      // Nobody among these 32.
      if ((at & 31) === 0 && among[(chunk * CHUNK + at) >>> 5] === 0) {
        at += 31;
        continue;
      }
      const id = ids[at] ?? 0;
      // A number past all sizes has none.
      let size = sizes[id] ?? 0;
      if (Number.isNaN(size)) {
        this.#read(Math.floor(id / CHUNK), sizes);
        size = sizes[id] ?? 0;
      }
      codes[at] = size;
    }
    // So that 0 stands for the headcount that is not known.
    return { least: NO_HEADCOUNT + 1, unit: 1, codes };
  }

  extents(): ReadonlyMap<number, Extent> {
    return NO_EXTENTS;
  }

  numberOf(place: After): number {
    return keyNumber(place);
  }

  isTold(): boolean {
    return true;
  }

  #read(chunk: number, sizes: Float64Array): void {
    const { least, unit, codes } = this.#column.chunk(chunk);
    for (let at = 0; at < CHUNK; at++) {
      const code = codes[at] ?? 0;
      sizes[chunk * CHUNK + at] = code === 0 ? 0 : least + (code - 1) * unit - NO_HEADCOUNT;
    }
  }
}
