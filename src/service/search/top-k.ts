/** The top-k page: the first k people behind the cursor in an order, found chunk by chunk without sorting the others. */
import type { Steps } from '../../util/steps.ts';
import { hasAtMost, isEmptyBetween, type Bitmap } from '../store/index/bitmap.ts';
import type { EmployerReader } from '../store/index/employers.ts';
import { CHUNK, codesInRange, type DecodedChunk } from '../store/index/packed-chunk.ts';
import { ANY_VALUE, type Zone } from '../store/index/sort-columns.ts';
import type { Sort } from '../store/index/sort-keys.ts';
import type { Store } from '../store/store.ts';
import type { RangeScans } from './column-scan.ts';
import { Candidate, compareCandidates, CursorCandidate, type RankedRow, type ReadRankedRow } from './comparator.ts';
import { HeadcountScan } from './headcount-scan.ts';
import type { Matches } from './matcher.ts';
import { NameScan } from './name-scan.ts';
import { NO_ZONES, SortOrders, type PageQuery, type SortOrder } from './sort-orders.ts';

const WORDS_PER_CHUNK = CHUNK / 32;
/** Reading the zones of this many chunks costs as much as reading one chunk. */
const ZONES_PER_CHUNK = 8;
/** Reading and searching a chunk takes this many units of work, and ordering this many chunks takes one. */
const [VISIT_UNITS, CHUNKS_A_UNIT] = [2, 32];
/** Up to this many rows are read in place of a chunk of an uncached column. */
const FEW_ROWS = 3;

interface SortedPageQuery extends PageQuery {
  readonly sort: Sort;
}

/** Finds pages: by an ordered scan where one is cheaper, else by top-k over the sort columns. */
export class ResultPager {
  readonly #orders: SortOrders;
  readonly #names: NameScan;
  readonly #headcounts: HeadcountScan;
  readonly #read;

  constructor(store: Store, employers: EmployerReader) {
    this.#orders = new SortOrders(store, employers);
    this.#names = new NameScan(store);
    this.#headcounts = new HeadcountScan(employers, this.#orders.headcounts);
    this.#read = store.prepare('SELECT id, name_key FROM people WHERE seq = ?');
  }

  /** Sort columns that can evaluate ranges, too. */
  get rangeScans(): Readonly<Record<'people' | 'companies', RangeScans>> {
    return this.#orders.rangeScans;
  }

  /** To be called after a write to the store, together with that of the employers. */
  invalidate(): void {
    this.#orders.invalidate();
  }

  /** Reads the store as of this moment, apart from what is cached until `invalidate`. */
  *page(matches: Matches, query: SortedPageQuery): Steps<RankedRow[]> {
    if (matches.total === 0) return [];
    const scanned = query.sort === 'name' ? yield* this.#names.page(matches, query) : null;
    if (scanned !== null) return scanned;
    const read = (seq: number, main: number): RankedRow => {
      const row = this.#read.get(seq);
      return {
        seq,
        key: query.sort === 'name' ? ((row?.['name_key'] as string | undefined) ?? '') : main,
        id: (row?.['id'] as string | undefined) ?? '',
      };
    };
    const order = yield* this.#orders.of(query.sort);
    const subset = query.sort === 'headcount' ? yield* this.#headcounts.candidates(matches, query) : null;
    const zone = query.sort === 'headcount' && subset === null ? yield* this.#headcounts.zoneOf(matches) : ANY_VALUE;
    return yield* new TopK(order, query, read, zone).of(subset ?? matches.found);
  }
}

class TopK {
  readonly #order: SortOrder;
  readonly #sign: 1 | -1;
  readonly #limit: number;
  readonly #cursor: CursorCandidate | null;
  /** The page so far, in order. */
  readonly #page: Candidate[] = [];
  readonly #read: ReadRankedRow;
  readonly #zone: Zone;
  readonly #selected = new Uint16Array(CHUNK);

  /** @param zone bounds of the primary column, for chunks without a zone of their own */
  constructor(order: SortOrder, { descending, after, limit }: PageQuery, read: ReadRankedRow, zone: Zone) {
    this.#order = order;
    this.#sign = descending ? -1 : 1;
    this.#limit = limit;
    this.#cursor = after === null ? null : new CursorCandidate(order, after);
    this.#read = read;
    this.#zone = zone;
  }

  *of(found: Bitmap): Steps<RankedRow[]> {
    const chunks = this.#chunks(found);
    yield 1 + Math.floor(chunks.length / CHUNKS_A_UNIT);
    for (const bounds of chunks) {
      const last = this.#last;
      // Chunks come in order of their best number. Once it is worse than the last of a full page, all later ones are, too.
      if (last !== undefined && bounds.best > this.#sign * last.number(0)) break;
      if (last !== undefined && bounds.best >= this.#sign * last.number(0) && this.#areTiesBehind(bounds, last)) continue;
      this.#visit(found, bounds);
      yield VISIT_UNITS;
    }
    return this.#page.map(({ position }) => position);
  }

  /** The chunks that may have people behind the cursor, in order of their best number. */
  #chunks(found: Bitmap): ChunkBounds[] {
    const {
      main,
      next: [next],
    } = this.#order;
    const sign = this.#sign;
    const cursor = this.#cursor === null ? -Infinity : sign * this.#cursor.number(0);
    const inhabited: number[] = [];
    for (let from = 0; from < found.length; from += WORDS_PER_CHUNK)
      if (!isEmptyBetween(found, from, from + WORDS_PER_CHUNK)) inhabited.push(from / WORDS_PER_CHUNK);
    // For few chunks, reading them costs less than reading the zone map.
    const areFew = inhabited.length * ZONES_PER_CHUNK <= found.length / WORDS_PER_CHUNK;
    const [zones, nextZones] = areFew ? [NO_ZONES, NO_ZONES] : [main.zones(), next.zones()];
    const chunks: ChunkBounds[] = [];
    for (const chunk of inhabited) {
      const [best, worst] = inDirection(zones.get(chunk) ?? this.#zone, sign);
      const [bestNext, worstNext] = inDirection(nextZones.get(chunk) ?? ANY_VALUE, sign);
      const bounds = { chunk, best: Math.max(best, cursor), bestNext, worstNext };
      // All ties of the cursor are before it. Numbers are integers, so a half excludes exactly these ties.
      if (this.#cursor !== null && bounds.best === cursor && this.#areTiesBefore(bounds, this.#cursor)) bounds.best += 1 / 2;
      if (worst >= bounds.best) chunks.push(bounds);
    }
    return chunks.sort((one, other) => compareNumbers(one.best, other.best) || compareNumbers(one.bestNext, other.bestNext));
  }

  /** Whether all rows of a chunk that tie with a candidate in the primary column come after it. */
  #areTiesBehind({ bestNext }: ChunkBounds, candidate: Candidate | CursorCandidate): boolean {
    return this.#order.main.isExact(candidate.number(0)) && bestNext > this.#sign * candidate.number(1);
  }

  #areTiesBefore({ worstNext }: ChunkBounds, candidate: Candidate | CursorCandidate): boolean {
    return this.#order.main.isExact(candidate.number(0)) && worstNext < this.#sign * candidate.number(1);
  }

  /** Adds the candidates of a chunk to the page. */
  #visit(found: Bitmap, bounds: ChunkBounds): void {
    const { chunk } = bounds;
    if (this.#order.main.isUncached && hasAtMost(found.subarray(chunk * WORDS_PER_CHUNK, (chunk + 1) * WORDS_PER_CHUNK), FEW_ROWS)) {
      this.#visitRows(found, chunk);
      return;
    }
    const sign = this.#sign;
    const [from, to] = [this.#cursor?.number(0) ?? -sign * Infinity, this.#last?.number(0) ?? sign * Infinity];
    const { least, unit, codes } = this.#order.main.chunk(chunk, found, Math.min(from, to), Math.max(from, to));
    const codeOf = (one: Candidate | CursorCandidate | null | undefined, open: number): number =>
      one === null || one === undefined ? open : (one.number(0) - least) / unit + 1;
    const cursor = codeOf(this.#cursor, -sign * Infinity);
    // Codes are integers: a half excludes the ties of the cursor.
    const excludesTies = this.#cursor !== null && Number.isInteger(cursor) && this.#areTiesBefore(bounds, this.#cursor);
    const first = excludesTies ? cursor + sign / 2 : cursor;
    const includesTies = this.#cursor !== null && this.#areTiesBehind(bounds, this.#cursor);
    let worst = codeOf(this.#last, sign * Infinity);
    const candidate = new Candidate(this.#order, this.#read);
    const count = selectInRange(codes, found, chunk * WORDS_PER_CHUNK, Math.min(first, worst), Math.max(first, worst), this.#selected);
    for (let i = 0; i < count; i++) {
      const at = this.#selected[i] ?? 0;
      const code = codes[at] ?? 0;
      if (sign === 1 ? code > worst : code < worst) continue;
      candidate.become(chunk * CHUNK + at, least + (code - 1) * unit, count > FEW_ROWS);
      if (code === cursor && !includesTies && this.#isUpToCursor(candidate)) continue;
      if (code === worst && this.#isBehindLast(candidate, bounds)) continue;
      this.#insert(candidate.copy());
      worst = codeOf(this.#last, worst);
    }
  }

  /** The same for few rows, without the columns. */
  #visitRows(found: Bitmap, chunk: number): void {
    for (let word = chunk * WORDS_PER_CHUNK; word < (chunk + 1) * WORDS_PER_CHUNK; word++) {
      for (let left = found[word] ?? 0; left !== 0; left &= left - 1) {
        const row = this.#read(word * 32 + 31 - Math.clz32(left & -left), 0);
        const candidate = new Candidate(this.#order, () => row, row.seq, [this.#order.main.numberOf(row)]);
        if (this.#isUpToCursor(candidate)) continue;
        const last = this.#last;
        if (last === undefined || this.#compare(candidate, last) < 0) this.#insert(candidate);
      }
    }
  }

  #isUpToCursor(candidate: Candidate): boolean {
    return this.#cursor !== null && this.#compare(candidate, this.#cursor) <= 0;
  }

  /** For a candidate that ties with the last of a full page. */
  #isBehindLast(candidate: Candidate, bounds: ChunkBounds): boolean {
    const last = this.#last;
    return last !== undefined && (this.#areTiesBehind(bounds, last) || this.#compare(candidate, last) >= 0);
  }

  /** The last candidate of a full page; undefined while the page has room. */
  get #last(): Candidate | undefined {
    return this.#page.length < this.#limit ? undefined : this.#page.at(-1);
  }

  #insert(candidate: Candidate): void {
    const page = this.#page;
    let [low, high] = [0, page.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(candidate, page[middle] as Candidate) < 0) high = middle;
      else low = middle + 1;
    }
    page.splice(low, 0, candidate);
    if (page.length > this.#limit) page.pop();
  }

  #compare(one: Candidate, other: Candidate | CursorCandidate): number {
    return compareCandidates(this.#order, this.#sign, one, other);
  }
}

/** Bounds of a chunk's rows behind the cursor, with the sign of the direction: a smaller number comes first. */
interface ChunkBounds {
  readonly chunk: number;
  /** The best number of the primary column. */
  readonly best: number;
  /** The range of the next column, which orders ties. */
  readonly bestNext: number;
  readonly worstNext: number;
}

/** Writes the rows of a chunk that were found and have a code from `low` to `high` into `into`. Returns how many there are. */
function selectInRange(
  codes: DecodedChunk['codes'],
  found: Bitmap,
  fromWord: number,
  low: number,
  high: number,
  into: Uint16Array,
): number {
  let count = 0;
  for (let word = 0; word < WORDS_PER_CHUNK; word++) {
    const bits = found[fromWord + word] ?? 0;
    if (bits === 0) continue;
    for (let left = bits & codesInRange(codes, word * 32, low, high); left !== 0; left &= left - 1)
      into[count++] = word * 32 + 31 - Math.clz32(left & -left);
  }
  return count;
}

function compareNumbers(one: number, other: number): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function inDirection({ least, most }: Zone, sign: 1 | -1): readonly [best: number, worst: number] {
  return sign === 1 ? [least, most] : [-most, -least];
}
