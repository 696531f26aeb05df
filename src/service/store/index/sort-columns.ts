/** Sort columns: a number for each row, stored in packed chunks (docs/decisions/search.md). */
import { releaseMemory, prepareRows } from '../../../sqlite/array-rows.ts';
import type { Store } from '../store.ts';
import { CHUNK, decodeChunk, EMPTY_CHUNK, pack, unpack, type DecodedChunk, type Packed } from './packed-chunk.ts';

/** Tables of one shape. The first six are by row of a person, the others by id of a company's domain. */
export type ColumnName =
  | 'person_times'
  | 'person_ranks'
  | 'person_name_heads'
  | 'person_name_tails'
  | 'person_id_heads'
  | 'person_id_tails'
  | 'company_sizes'
  | 'alias_companies';

/** The least and greatest number of a chunk (its entry in the zone map). */
export interface Zone {
  readonly least: number;
  readonly most: number;
}

export const ANY_VALUE: Zone = { least: -Infinity, most: Infinity };

/** Collects new numbers of rows, and writes each changed chunk once. */
export class ColumnWriter {
  /** By chunk: row, number, row, number, and so on. The last number of a row counts. */
  readonly #changes = new Map<number, number[]>();
  /** The chunk of the last change: most changes come in order of rows. */
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

  /** @param number an integer; null when the row has none or is gone */
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

  /** To be called within the transaction of the changes. */
  flush(): void {
    const numbers = this.#numbers;
    for (const [chunk, changes] of this.#changes) {
      const stored = this.#read.get(chunk) as unknown as Packed | undefined;
      if (stored === undefined) numbers.fill(NaN);
      else unpack(stored, numbers);
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

/** Reads a column, and caches its first chunks up to a bound. To be invalidated after each write to the store. */
export class ColumnReader {
  /** The chunk that was read last, and its position. */
  #numbers = EMPTY_CHUNK;
  #chunk: number | null = null;
  /** The chunks that were read first. Pages read all chunks in turn, so an LRU cache would evict each before its next use. */
  readonly #cache = new Map<number, DecodedChunk>();
  readonly #cacheBytes: number;
  #room: number;
  #isFull = false;
  #zones: ReadonlyMap<number, Zone> | null = null;
  readonly #read;
  readonly #readZones;

  /** @param cacheBytes bound of the cache, apart from the chunk that was read last */
  constructor(store: Store, name: ColumnName, cacheBytes = 0) {
    this.#read = prepareRows<[least: number, unit: number, codes: Uint8Array<ArrayBuffer>]>(
      store,
      `SELECT least, unit, codes FROM ${name} WHERE chunk = ?`,
    );
    this.#readZones = prepareRows<[chunk: number, least: number, most: number]>(store, `SELECT chunk, least, most FROM ${name}`);
    this.#cacheBytes = cacheBytes;
    this.#room = cacheBytes;
  }

  /** The numbers of `CHUNK` rows, valid until the next chunk is read. */
  chunk(chunk: number): DecodedChunk {
    if (chunk === this.#chunk) return this.#numbers;
    this.#release();
    this.#numbers = this.#cache.get(chunk) ?? this.#readChunk(chunk);
    this.#chunk = chunk;
    return this.#numbers;
  }

  /** Chunks that do not fit the cache and are read each time; 0 until it is full. */
  get uncachedChunks(): number {
    return this.#isFull ? this.zones().size - this.#cache.size : 0;
  }

  #readChunk(chunk: number): DecodedChunk {
    const row = this.#read.get(chunk);
    if (row === undefined) return EMPTY_CHUNK;
    const [least, unit, codes] = row;
    const numbers = decodeChunk({ least, unit, codes });
    if (codes.length <= this.#room) {
      this.#room -= codes.length;
      this.#cache.set(chunk, numbers);
    } else this.#isFull = true;
    return numbers;
  }

  /** Frees the last chunk where it is not cached: a column of all people has tens of megabytes. */
  #release(): void {
    const { codes } = this.#numbers;
    if (this.#chunk !== null && this.#numbers !== EMPTY_CHUNK && !this.#cache.has(this.#chunk)) releaseMemory(codes);
    // When reading the next chunk fails, this one is read again.
    this.#chunk = null;
  }

  /** To be called after a write to the store. */
  invalidate(): void {
    this.#chunk = null;
    this.#numbers = EMPTY_CHUNK;
    this.#cache.clear();
    this.#room = this.#cacheBytes;
    this.#isFull = false;
    this.#zones = null;
  }

  zones(): ReadonlyMap<number, Zone> {
    this.#zones ??= new Map(this.#readZones.all().map(([chunk, least, most]) => [chunk, { least, most }]));
    return this.#zones;
  }
}
