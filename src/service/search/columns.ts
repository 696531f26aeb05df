/** A number of each row, kept in the store in packed chunks, as what is sorted by is (docs/decisions/search.md). */
import { letGo, prepareRows } from '../../sqlite/array-rows.ts';
import type { Store } from '../store/store.ts';
import { CHUNK, coded, NO_NUMBERS, pack, unpack, type Coded, type Packed } from './packed.ts';

/** Tables of one shape: by people's rows, and by the numbers of companies' domains. */
export type ColumnName = 'person_times' | 'person_ranks' | 'person_name_heads' | 'person_name_tails' | 'person_id_heads' | 'person_id_tails' | 'company_sizes' | 'alias_companies';

/** Between which numbers those of a chunk are, both included. */
export interface Extent {
  readonly least: number;
  readonly most: number;
}

export const ANYWHERE: Extent = { least: -Infinity, most: Infinity };

/** Collects the numbers that rows have now, and writes each chunk that is changed by them once. */
export class ColumnWriter {
  /** By chunk: a row within it and its number in turn; the last one counts. */
  readonly #changes = new Map<number, number[]>();
  /** Where the last change was put: most come one after the other. */
  #chunk = -1;
  #chunkChanges: number[] = [];
  readonly #numbers = new Float64Array(CHUNK);
  readonly #read;
  readonly #write;
  readonly #drop;

  constructor(store: Store, name: ColumnName) {
    this.#read = store.prepare(`SELECT least, unit, codes FROM ${name} WHERE chunk = ?`);
    this.#write = store.prepare(`INSERT OR REPLACE INTO ${name} (chunk, least, most, unit, codes) VALUES (?, ?, ?, ?, ?)`);
    this.#drop = store.prepare(`DELETE FROM ${name} WHERE chunk = ?`);
  }

  /** @param number a whole one; null: the row is no more, or has none */
  change(row: number, number: number | null): void {
    const chunk = Math.floor(row / CHUNK);
    if (chunk !== this.#chunk) this.#goTo(chunk);
    this.#chunkChanges.push(row % CHUNK, number ?? NaN);
  }

  #goTo(chunk: number): void {
    this.#chunk = chunk;
    this.#chunkChanges = this.#changes.get(chunk) ?? [];
    this.#changes.set(chunk, this.#chunkChanges);
  }

  /** Within the transaction of the changes. */
  flush(): void {
    const numbers = this.#numbers;
    for (const [chunk, changes] of this.#changes) {
      const kept = this.#read.get(chunk) as unknown as Packed | undefined;
      if (kept === undefined) numbers.fill(NaN);
      else unpack(kept, numbers);
      let isChanged = false;
      for (let i = 0; i < changes.length; i += 2) {
        const [at, number] = [changes[i] as number, changes[i + 1] as number];
        if (Object.is(numbers[at], number)) continue;
        numbers[at] = number;
        isChanged = true;
      }
      if (isChanged) this.#put(chunk, pack(numbers));
    }
    this.#changes.clear();
    this.#chunk = -1;
  }

  #put(chunk: number, packed: Packed | null): void {
    if (packed === null) this.#drop.run(chunk);
    else this.#write.run(chunk, packed.least, packed.most, packed.unit, packed.codes);
  }
}

/** Reads a column as it is at one moment: what was read is to be forgotten when the store has changed. */
export class ColumnReader {
  #numbers = NO_NUMBERS;
  #chunk: number | null = null;
  /** Those that were read first: to let go of one for another would be of no use to whoever reads all of them in turn. */
  readonly #kept = new Map<number, Coded>();
  readonly #most: number;
  #room: number;
  #isFull = false;
  #known: ReadonlyMap<number, Extent> | null = null;
  readonly #read;
  readonly #extents;

  /** @param most bytes of numbers that are kept, beside the last that were asked for */
  constructor(store: Store, name: ColumnName, most = 0) {
    this.#read = prepareRows<[least: number, unit: number, codes: Uint8Array<ArrayBuffer>]>(store, `SELECT least, unit, codes FROM ${name} WHERE chunk = ?`);
    this.#extents = prepareRows<[chunk: number, least: number, most: number]>(store, `SELECT chunk, least, most FROM ${name}`);
    this.#most = most;
    this.#room = most;
  }

  /** The numbers of `CHUNK` rows. They hold until another chunk is asked for. */
  chunk(chunk: number): Coded {
    if (chunk === this.#chunk) return this.#numbers;
    this.#letGo();
    this.#numbers = this.#kept.get(chunk) ?? this.#readChunk(chunk);
    this.#chunk = chunk;
    return this.#numbers;
  }

  /** Chunks that are read whenever they are asked for, as there is no room for more. */
  get beyondRoom(): number {
    return this.#isFull ? this.extents().size - this.#kept.size : 0;
  }

  #readChunk(chunk: number): Coded {
    const row = this.#read.get(chunk);
    if (row === undefined) return NO_NUMBERS;
    const [least, unit, codes] = row;
    const numbers = coded({ least, unit, codes });
    if (codes.length <= this.#room) {
      this.#room -= codes.length;
      this.#kept.set(chunk, numbers);
    } else this.#isFull = true;
    return numbers;
  }

  /** What is not kept goes as the next is read: columns of all people are tens of megabytes. */
  #letGo(): void {
    const { codes } = this.#numbers;
    if (this.#chunk !== null && this.#numbers !== NO_NUMBERS && !this.#kept.has(this.#chunk)) letGo(codes);
    // Should the next not be readable, this one is read again.
    this.#chunk = null;
  }

  forget(): void {
    this.#chunk = null;
    this.#numbers = NO_NUMBERS;
    this.#kept.clear();
    this.#room = this.#most;
    this.#isFull = false;
    this.#known = null;
  }

  extents(): ReadonlyMap<number, Extent> {
    this.#known ??= new Map(this.#extents.all().map(([chunk, least, most]) => [chunk, { least, most }]));
    return this.#known;
  }
}
