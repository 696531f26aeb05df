/** Reads pages of a column: the values that they hold, with the levels that say where values are missing and where rows begin. */
import type { Encoding, PageHeader, ParquetType, SchemaElement } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { deltaBinaryUnpack, deltaByteArray, deltaLengthByteArray } from 'hyparquet/src/delta.js';
import { byteStreamSplit } from 'hyparquet/src/encoding.js';
import { readPlain } from 'hyparquet/src/plain.js';
import { MAX_PAGE_BYTES, MAX_PAGE_VALUES } from '../limits.ts';
import { decompressPage } from './codecs.ts';
import { toCell, type Cell } from './column-type.ts';
import type { Chunk, Leaf } from './footer.ts';
import type { PageBytes } from './page-bytes.ts';
import { deltasEnd, readRuns } from './runs.ts';
import { structEnd } from './thrift-bounds.ts';

/** The next value. Cells are made one by one, because those of a whole page for each column would take hundreds of megabytes. */
export type NextCell = () => Cell;

/** A page with its levels. */
export interface Page {
  /** Reads the values that are there, without those that are missing. @throws RangeError when the page has none left */
  readonly next: NextCell;
  readonly present: number;
  /** One for each value or missing value; null when nothing is missing. */
  readonly definitions: Uint32Array | null;
  /** Null for a column that is not repeated: each value is a row. */
  readonly repetitions: Uint32Array | null;
  /** Values and missing values. */
  readonly count: number;
}

/** A page's header, with the number of its values. */
export interface PageHead {
  readonly header: PageHeader;
  readonly count: number;
}

/** Read at first for a header. Statistics of long texts make it longer. */
const HEADER_BYTES = 1_024;
const MAX_HEADER_BYTES = 4 * 1024 * 1024;
/** About how much memory a value takes beside its bytes. */
export const BYTES_PER_VALUE = 16;

/**
 * Reads the next page's header, and passes it.
 * @param isPassed the page is likely to be passed too @throws RangeError for one that states more than a page may have
 */
export async function readPageHead(from: PageBytes, isPassed = false): Promise<PageHead> {
  for (let length = HEADER_BYTES; ; length *= 8) {
    const bytes = await from.peek(length, isPassed);
    let end: number;
    try {
      end = structEnd(bytes, 0);
    } catch (error) {
      if (bytes.length < length || length >= MAX_HEADER_BYTES) throw error;
      continue;
    }
    const header = parquetHeader({ view: new DataView(bytes.buffer, bytes.byteOffset, end), offset: 0 });
    from.skip(end);
    const count =
      header.data_page_header?.num_values ?? header.data_page_header_v2?.num_values ?? header.dictionary_page_header?.num_values ?? 0;
    for (const size of [header.compressed_page_size, header.uncompressed_page_size])
      if (!(size >= 0 && size <= MAX_PAGE_BYTES)) throw new RangeError(`a page has ${size} bytes, more than ${MAX_PAGE_BYTES}`);
    if (!(count >= 0 && count <= MAX_PAGE_VALUES)) throw new RangeError(`a page has ${count} values, more than ${MAX_PAGE_VALUES}`);
    return { header, count };
  }
}

/** Decodes a dictionary page. */
export async function readDictionary({ header, count }: PageHead, from: PageBytes, leaf: Leaf, chunk: Chunk): Promise<Cell[]> {
  const page = decompressPage(chunk.codec, await take(from, header.compressed_page_size), header.uncompressed_page_size);
  const next = plainCells(page, 0, count, leaf.element);
  return Array.from({ length: count }, next);
}

/** Decodes a data page. @param dictionary of its column chunk; null without one */
export async function readPage(
  { header, count }: PageHead,
  from: PageBytes,
  leaf: Leaf,
  chunk: Chunk,
  dictionary: readonly Cell[] | null,
): Promise<Page> {
  const bytes = await take(from, header.compressed_page_size);
  const { page, levels, encoding } =
    header.type === 'DATA_PAGE_V2' ? secondForm(header, bytes, chunk) : firstForm(header, bytes, chunk, leaf);
  const widthOf = (most: number): number => 32 - Math.clz32(most);
  const read = (at: readonly [number, number], source: Uint8Array, most: number): Uint32Array | null =>
    most === 0 ? null : readRuns(source, at[0], at[1], widthOf(most), count);
  const repetitions = read(levels.repetition, levels.bytes, leaf.maxRepetition);
  const definitions = read(levels.definition, levels.bytes, leaf.maxDefinition);
  let present = count;
  if (definitions !== null) {
    present = 0;
    for (const level of definitions) if (level === leaf.maxDefinition) present += 1;
  }
  const next = decode(page, levels.end, present, leaf.element, encoding, dictionary);
  return {
    next,
    present,
    definitions: present === count && repetitions === null ? null : definitions,
    repetitions,
    count,
  };
}

/** Where the levels lie, and where the values begin in the page. */
interface Levels {
  readonly bytes: Uint8Array;
  readonly repetition: readonly [number, number];
  readonly definition: readonly [number, number];
  readonly end: number;
}

interface Form {
  readonly page: Uint8Array<ArrayBuffer>;
  readonly levels: Levels;
  readonly encoding: Encoding;
}

/** Version 1: levels and values are compressed together, and each kind of level begins with its length. */
function firstForm(header: PageHeader, bytes: Uint8Array, { codec }: Chunk, leaf: Leaf): Form {
  const own = header.data_page_header;
  if (header.type !== 'DATA_PAGE' || own === undefined) throw new RangeError('a page is of an unknown kind');
  const page = decompressPage(codec, bytes, header.uncompressed_page_size);
  const view = new DataView(page.buffer);
  let at = 0;
  const next = (most: number, encoding: Encoding): readonly [number, number] => {
    if (most === 0) return [at, at];
    if (encoding !== 'RLE') throw new RangeError(`levels in the encoding ${encoding} are not supported`);
    const from = at + 4;
    at = from + view.getUint32(at, true);
    if (at > page.length) throw new RangeError('a page ends too early');
    return [from, at];
  };
  const repetition = next(leaf.maxRepetition, own.repetition_level_encoding);
  const definition = next(leaf.maxDefinition, own.definition_level_encoding);
  return { page, levels: { bytes: page, repetition, definition, end: at }, encoding: own.encoding };
}

/** Version 2: levels stand uncompressed before the values. */
function secondForm(header: PageHeader, bytes: Uint8Array, { codec }: Chunk): Form {
  const own = header.data_page_header_v2;
  if (own === undefined) throw new RangeError('a page is of an unknown kind');
  const first = own.repetition_levels_byte_length;
  const both = first + own.definition_levels_byte_length;
  if (!(first >= 0 && own.definition_levels_byte_length >= 0 && both <= bytes.length && both <= header.uncompressed_page_size))
    throw new RangeError('a page ends too early');
  const rest = bytes.subarray(both);
  const page = decompressPage(own.is_compressed === false ? 'UNCOMPRESSED' : codec, rest, header.uncompressed_page_size - both);
  return { page, levels: { bytes, repetition: [0, first], definition: [first, both], end: 0 }, encoding: own.encoding };
}

async function take(from: PageBytes, length: number): Promise<Uint8Array> {
  if (length > from.left) throw new RangeError('a page ends outside of its column');
  const bytes = await from.peek(length);
  from.skip(length);
  return bytes;
}

/** @param values decoded, without their logical types */
function cellsOf(values: ArrayLike<unknown>, element: SchemaElement): NextCell {
  let at = 0;
  return () => {
    if (at >= values.length) throw new RangeError('a page has fewer values than its header states');
    return toCell(values[at++], element);
  };
}

function decode(
  page: Uint8Array<ArrayBuffer>,
  from: number,
  count: number,
  element: SchemaElement,
  encoding: Encoding,
  dictionary: readonly Cell[] | null,
): NextCell {
  if (count === 0) return cellsOf([], element);
  const { type } = element;
  if (encoding === 'PLAIN_DICTIONARY' || encoding === 'RLE_DICTIONARY') return dictionaryCells(page, from, count, dictionary);
  if (encoding === 'PLAIN') return plainCells(page, from, count, element);
  if (encoding === 'RLE' && type === 'BOOLEAN') {
    const bits = readRuns(page, from + 4, page.length, 1, count);
    let at = 0;
    return () => bits[at++] === 1;
  }
  const reader = { view: new DataView(page.buffer), offset: from };
  if (encoding === 'BYTE_STREAM_SPLIT') {
    if (count * widthOf(type, element.type_length) > page.length - from) throw new RangeError('a page ends too early');
    return cellsOf(byteStreamSplit(reader, count, type as ParquetType, element.type_length), element);
  }
  if (encoding === 'DELTA_BINARY_PACKED' && (type === 'INT32' || type === 'INT64')) {
    deltasEnd(page, from, count);
    const values = type === 'INT32' ? new Int32Array(count) : new BigInt64Array(count);
    deltaBinaryUnpack(reader, count, values);
    return cellsOf(values, element);
  }
  if (encoding === 'DELTA_LENGTH_BYTE_ARRAY') return cellsOf(deltaLengths(page, from, count), element);
  if (encoding === 'DELTA_BYTE_ARRAY') return cellsOf(deltaTexts(page, from, count), element);
  throw new RangeError(`the encoding ${encoding} of ${type ?? 'a column'} is not supported`);
}

function dictionaryCells(page: Uint8Array<ArrayBuffer>, from: number, count: number, dictionary: readonly Cell[] | null): NextCell {
  const width = page[from];
  if (dictionary === null || width === undefined) throw new RangeError('a page refers to a dictionary that is missing');
  const indexes = readRuns(page, from + 1, page.length, width, count);
  let at = 0;
  return () => {
    const value = dictionary[indexes[at++] ?? -1];
    if (value === undefined) throw new RangeError('a page refers to a value beyond its dictionary');
    return value;
  };
}

function plainCells(page: Uint8Array<ArrayBuffer>, from: number, count: number, element: SchemaElement): NextCell {
  const { type, type_length: length } = element;
  if (type === 'BYTE_ARRAY') {
    const view = new DataView(page.buffer);
    let at = from;
    return () => {
      const start = at + 4;
      at = start + view.getUint32(at, true);
      if (at > page.length) throw new RangeError('a page ends too early');
      return toCell(page.subarray(start, at), element);
    };
  }
  if (type !== 'BOOLEAN' && count * widthOf(type, length) > page.length - from) throw new RangeError('a page ends too early');
  return cellsOf(readPlain({ view: new DataView(page.buffer), offset: from }, type as ParquetType, count, length), element);
}

/** Bytes of a plain value. */
function widthOf(type: ParquetType | undefined, length: number | undefined): number {
  switch (type) {
    case 'INT64':
    case 'DOUBLE':
      return 8;
    case 'INT96':
      return 12;
    case 'FIXED_LEN_BYTE_ARRAY':
      if (length === undefined || !(length > 0 && length <= MAX_PAGE_BYTES))
        throw new RangeError('a column has values of an impossible length');
      return length;
    default:
      return 4;
  }
}

function deltaLengths(page: Uint8Array<ArrayBuffer>, from: number, count: number): Uint8Array[] {
  const { values: lengths, end } = unpackedLengths(page, from, count);
  if (lengths.reduce((sum, length) => sum + length, 0) > page.length - end) throw new RangeError('a page ends too early');
  const output: Uint8Array[] = [];
  deltaLengthByteArray({ view: new DataView(page.buffer), offset: from }, count, output);
  return output;
}

/** Each text begins like the one before it. A small page can state terabytes. */
function deltaTexts(page: Uint8Array<ArrayBuffer>, from: number, count: number): Uint8Array[] {
  const prefixes = unpackedLengths(page, from, count);
  const suffixes = unpackedLengths(page, prefixes.end, count);
  let total = 0;
  let before = 0;
  for (let i = 0; i < count; i++) {
    const prefix = prefixes.values[i] ?? 0;
    if (prefix > before) throw new RangeError('a page refers to text that is missing');
    before = prefix + (suffixes.values[i] ?? 0);
    total += before;
    if (total > MAX_PAGE_BYTES) throw new RangeError(`the texts of a page have more than ${MAX_PAGE_BYTES} bytes`);
  }
  const output: Uint8Array[] = [];
  deltaByteArray({ view: new DataView(page.buffer), offset: from }, count, output);
  return output;
}

function unpackedLengths(
  page: Uint8Array<ArrayBuffer>,
  from: number,
  count: number,
): { readonly values: Int32Array; readonly end: number } {
  const end = deltasEnd(page, from, count);
  const values = new Int32Array(count);
  deltaBinaryUnpack({ view: new DataView(page.buffer), offset: from }, count, values);
  if (values.some((length) => length < 0)) throw new RangeError('a page has a text of negative length');
  return { values, end };
}
