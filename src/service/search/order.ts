/** An order of people as columns of numbers, each of which tells apart whom those before it do not. */
import type { Store } from '../store/store.ts';
import { ColumnReader, type ColumnName, type Extent } from './columns.ts';
import { EmployerReader } from './employers.ts';
import { CHUNK } from './packed.ts';
import { NO_HEADCOUNT, type Sort } from './sort-keys.ts';
import { idNumbers, isToldId, isWholeName, nameNumber } from './text-numbers.ts';

/** Where a page ended: the next begins after it, whatever was added or removed meanwhile. */
export interface After {
  readonly key: string | number;
  readonly id: string;
}

export interface Level {
  /** The numbers of a chunk's rows. They hold until another chunk is read. */
  chunk(chunk: number): Float64Array;
  /** Between which each chunk's are, where that is known. */
  extents(): ReadonlyMap<number, Extent>;
  /** What somebody at this place would have. */
  numberOf(place: After): number;
  /** Of two with this number, whether the next level says which is first; otherwise only what the numbers were made of does. */
  isTold(number: number): boolean;
}

export interface Order {
  readonly sort: Sort;
  /** What is sorted by, and the two parts of ids. */
  readonly levels: readonly [main: Level, head: Level, tail: Level];
}

/** Companies are numbered from 1: who works nowhere is at number 0, which has no size. */
const CHUNK_BITS = Math.log2(CHUNK);
const NO_EXTENTS: ReadonlyMap<number, Extent> = new Map();

/** As the store is at this moment. Ids break ties. */
export function orderOf(store: Store, sort: Sort): Order {
  const idPart = (name: ColumnName, part: 0 | 1): Level => levelOf(new ColumnReader(store, name), ({ id }) => idNumbers(id)[part], isToldId);
  return { sort, levels: [mainLevel(store, sort), idPart('person_id_heads', 0), idPart('person_id_tails', 1)] };
}

function mainLevel(store: Store, sort: Sort): Level {
  switch (sort) {
    case 'relevance':
      return levelOf(new ColumnReader(store, 'person_ranks'), ({ key }) => Number(key));
    case 'updated_at':
      return levelOf(new ColumnReader(store, 'person_times'), ({ key }) => Number(key));
    case 'name':
      return levelOf(new ColumnReader(store, 'person_names'), ({ key }) => nameNumber(String(key)), isWholeName);
    case 'headcount':
      return headcountLevel(store);
    default:
      return sort satisfies never;
  }
}

function levelOf(column: ColumnReader, numberOf: Level['numberOf'], isTold: Level['isTold'] = () => true): Level {
  return { chunk: (chunk) => column.chunk(chunk), extents: () => column.extents(), numberOf, isTold };
}

/** What a company has is not written to all who work there: their company's number leads to it. */
function headcountLevel(store: Store): Level {
  const employers = new EmployerReader(store);
  const sizes = new ColumnReader(store, 'company_sizes');
  const chunks = Math.max(-1, ...sizes.extents().keys()) + 1;
  const known = new Float64Array(chunks * CHUNK).fill(NO_HEADCOUNT);
  const isRead = new Uint8Array(chunks);
  const readSizes = (chunk: number): void => {
    isRead[chunk] = 1;
    for (const [at, size] of sizes.chunk(chunk).entries()) if (!Number.isNaN(size)) known[chunk * CHUNK + at] = size;
  };
  const numbers = new Float64Array(CHUNK);
  let read: number | null = null;
  return {
    chunk(chunk) {
      if (chunk === read) return numbers;
      const ids = employers.chunk(chunk);
      for (let at = 0; at < CHUNK; at++) {
        const id = ids?.[at] ?? 0;
        if (isRead[id >>> CHUNK_BITS] === 0) readSizes(id >>> CHUNK_BITS);
        numbers[at] = known[id] ?? NO_HEADCOUNT;
      }
      read = chunk;
      return numbers;
    },
    extents: () => NO_EXTENTS,
    numberOf: ({ key }) => Number(key),
    isTold: () => true,
  };
}
