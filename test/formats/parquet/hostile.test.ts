/** Hostile and damaged Parquet: every file is read, or refused with a reason, in bounded memory and time. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ByteWriter } from 'hyparquet-writer';
import { serializeTCompactProtocol } from 'hyparquet-writer/src/thrift.js';
import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { SchemaElement } from 'hyparquet';
import { readFooter } from '../../../src/formats/parquet/footer.ts';
import { PageBytes } from '../../../src/formats/parquet/page-bytes.ts';
import { readPage, readPageHead } from '../../../src/formats/parquet/pages.ts';
import { readParquetRows } from '../../../src/formats/parquet/parquet-rows.ts';
import { deltasEnd, readRuns } from '../../../src/formats/parquet/runs.ts';
import { structEnd } from '../../../src/formats/parquet/thrift-bounds.ts';
import { InputError } from '../../../src/util/errors.ts';
import { put, scratchFolder } from '../helpers.ts';
import { parquetFile } from './written.ts';

const folder = scratchFolder();
const FIXTURES = join(import.meta.dirname, '../../../fixtures/formats/parquet');

async function readWhole(content: Uint8Array): Promise<number> {
  const path = await put(folder, 'any.parquet', content);
  let rows = 0;
  for await (const batch of readParquetRows({ uri: path, path, size: content.length, digest: '' }, 0)) rows += batch.rows;
  return rows;
}

/** The reason why a file is refused. */
async function refusal(content: Uint8Array): Promise<string> {
  const error: unknown = await readWhole(content).then(
    () => null,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(InputError);
  return (error as InputError).message;
}

/** A varint of seven bits a byte. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    bytes.push((rest % 128) + (rest >= 128 ? 128 : 0));
    if (rest < 128) return bytes;
  }
}

describe('damaged files', () => {
  it.each(['snappy', 'zstd-pages', 'gzip-plain', 'encodings', 'none'])(
    '%s.parquet with any bytes changed is read, or refused with a reason',
    async (name) => {
      const whole = await readFile(join(FIXTURES, `${name}.parquet`));
      const change = fc.tuple(fc.nat(whole.length - 1), fc.oneof(fc.nat(255), fc.constantFrom(0, 0x7f, 0x80, 0xff)));
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 12 }), fc.option(fc.nat(whole.length)), async (changes, end) => {
          const content = Buffer.from(whole);
          for (const [at, value] of changes) content[at] = value;
          const outcome: unknown = await readWhole(content.subarray(0, end ?? undefined)).catch((error: unknown) => error);
          if (typeof outcome !== 'number')
            expect(outcome).toMatchObject({ code: expect.stringMatching(/^input_(parquet|too_many_columns)$/) });
        }),
        { numRuns: 120 },
      );
    },
  );

  it('a file without its end, an encrypted one and a longer footer than the file are refused by name', async () => {
    const whole = await readFile(join(FIXTURES, 'none.parquet'));
    expect(await refusal(whole.subarray(0, -3))).toContain('its end is missing');
    expect(await refusal(Buffer.concat([whole.subarray(0, -4), Buffer.from('PARE')]))).toContain('it is encrypted');
    const longer = Buffer.from(whole);
    longer.writeUInt32LE(0xffff_fff0, longer.length - 8);
    expect(await refusal(longer)).toContain('its end is damaged');
    expect(await refusal(Buffer.from('PAR1PAR1'))).toContain('too short');
  });
});

describe('metadata that states more than it has', () => {
  const metadata = (value: object): Buffer => {
    const out = new ByteWriter();
    serializeTCompactProtocol(out, value as never);
    const bytes = Buffer.from(out.getBuffer());
    const tail = Buffer.alloc(8);
    tail.writeUInt32LE(bytes.length);
    tail.write('PAR1', 4);
    return Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(64), bytes, tail]);
  };
  const element = (name: string, { type, repetition, children }: { type?: number; repetition?: number; children?: number }): object => ({
    field_1: type,
    field_3: repetition,
    field_4: name,
    field_5: children,
  });

  it('lists of billions, numbers without end, and structs within structs end at once', () => {
    const list = [0x19, 0xfc, ...varint(2 ** 31 - 1), 0];
    expect(() => structEnd(new Uint8Array([...list, ...Array.from({ length: 50 }, () => 0)]), 0)).toThrow('longer than the file');
    expect(() => structEnd(new Uint8Array([0x16, ...Array.from({ length: 1_000 }, () => 0xff)]), 0)).toThrow('too long');
    expect(() => structEnd(new Uint8Array(Array.from({ length: 100_000 }, () => 0x1c)), 0)).toThrow('too deeply');
    expect(() => structEnd(new Uint8Array(Array.from({ length: 100_000 }, () => 0x19)), 0)).toThrow(RangeError);
    expect(() => structEnd(new Uint8Array([0x18, ...varint(2 ** 40)]), 0)).toThrow('too early');
  });

  it('a schema that is nested too deeply, or whose counts do not add up, is refused', async () => {
    const nested = Array.from({ length: 5_000 }, (_, i) => element(`c${i}`, { repetition: 0, children: 1 }));
    expect(await refusal(metadata({ field_1: 2, field_2: nested, field_3: 0n, field_4: [] }))).toContain('nested too deeply');
    for (const children of [0, 5, 2 ** 31 - 1]) {
      const schema = [element('root', { children }), element('a', { type: 1, repetition: 0 }), element('b', { type: 1, repetition: 0 })];
      expect(await refusal(metadata({ field_1: 2, field_2: schema, field_3: 0n, field_4: [] }))).toContain('schema is damaged');
    }
  });

  it('a row group outside of the file, and rows that its pages do not have, are refused', async () => {
    const column = (more: object): object => ({
      field_3: { field_1: 1, field_2: [0], field_3: ['a'], field_4: 0, field_5: 5n, field_6: 9n, field_7: 9n, field_9: 4n, ...more },
    });
    const file = (rows: bigint, more: object): Buffer =>
      metadata({
        field_1: 2,
        field_2: [element('root', { children: 1 }), element('a', { type: 1, repetition: 0 })],
        field_3: rows,
        field_4: [{ field_1: [column(more)], field_2: 9n, field_3: rows }],
      });
    expect(await refusal(file(5n, { field_7: 1n << 40n }))).toContain('outside of the file');
    expect(await refusal(file(-5n, {}))).toContain('row group is damaged');
    expect(await refusal(file(2n ** 52n, { field_7: 0n }))).toContain('fewer rows');
  });
});

describe('pages that state more than they have', () => {
  it('a run of a billion values gives as many as the page has', () => {
    const run = new Uint8Array([...varint(2 ** 30 * 2), 1]);
    expect(readRuns(run, 0, run.length, 1, 5)).toEqual(new Uint32Array([1, 1, 1, 1, 1]));
    const packed = new Uint8Array([...varint(2 ** 30 * 2 + 1), 0b10101]);
    expect(readRuns(packed, 0, packed.length, 1, 5)).toEqual(new Uint32Array([1, 0, 1, 0, 1]));
    expect(() => readRuns(packed, 0, packed.length, 1, 50)).toThrow('too early');
    expect(() => readRuns(new Uint8Array(100), 0, 100, 1, 500)).toThrow('too early');
    expect(() => readRuns(new Uint8Array(100), 0, 100, 32, 1)).toThrow('too wide');
  });

  it('deltas of a wrong size, or beyond their page, are refused', () => {
    const deltas = (block: number, parts: number, total: number): Uint8Array =>
      new Uint8Array([...varint(block), ...varint(parts), ...varint(total), 0, 0, ...Array.from({ length: 40 }, () => 64)]);
    for (const bytes of [deltas(128, 0, 9), deltas(0, 4, 9), deltas(2 ** 31, 4, 9), deltas(128, 4, 8), deltas(128, 3, 9)])
      expect(() => deltasEnd(bytes, 0, 9)).toThrow('wrong size');
    expect(() => deltasEnd(deltas(128, 4, 300), 0, 300)).toThrow('too early');
  });

  const TEXT: SchemaElement = { name: 'a', type: 'BYTE_ARRAY', repetition_type: 'REQUIRED' };
  const leaf = { element: TEXT, path: [], maxDefinition: 0, maxRepetition: 0 };

  /** Reads one page of text from its bytes. */
  async function page(header: object, body: Uint8Array): Promise<unknown[]> {
    const out = new ByteWriter();
    serializeTCompactProtocol(out, header as never);
    const content = Buffer.concat([Buffer.from(out.getBuffer()), body]);
    const path = await put(folder, 'page', content);
    const chunk = { start: 0, end: content.length, codec: 'UNCOMPRESSED' as const };
    const bytes = new PageBytes({ uri: path, path, size: content.length, digest: '' }, chunk, null, 1, undefined);
    const head = await readPageHead(bytes);
    const { next, count } = await readPage(head, bytes, leaf, chunk, null);
    return Array.from({ length: count }, next);
  }
  const header = (size: number, count: number, encoding: number, stated = size): object => ({
    field_1: 0,
    field_2: stated,
    field_3: size,
    field_5: { field_1: count, field_2: encoding, field_3: 3, field_4: 3 },
  });
  const LENGTHS = 6;
  const PREFIXES = 7;

  it('sizes and counts beyond the limits are refused before anything is allocated', async () => {
    await expect(page(header(8, 2 ** 30, 0), new Uint8Array(8))).rejects.toThrow('more than 4194304');
    await expect(page(header(8, 1, 0, 2 ** 31 - 1), new Uint8Array(8))).rejects.toThrow('more than 67108864');
    await expect(page(header(2 ** 30, 1, 0, 8), new Uint8Array(8))).rejects.toThrow('more than 67108864');
    await expect(page(header(8, -1, 0), new Uint8Array(8))).rejects.toThrow('more than');
  });

  it('a text never reaches beyond its page', async () => {
    const text = Buffer.from([3, 0, 0, 0, ...Buffer.from('abc')]);
    expect(await page(header(7, 1, 0), text)).toEqual(['abc']);
    const longer = Buffer.concat([Buffer.from([200, 0, 0, 0]), Buffer.from('abc')]);
    await expect(page(header(7, 1, 0), Buffer.concat([longer, Buffer.alloc(500, 'SECRET')]))).rejects.toThrow('ends too early');
    await expect(page(header(7, 3, 0), text)).rejects.toThrow(RangeError);
  });

  it('texts that repeat their beginning do not grow to gigabytes', async () => {
    // 128 values in one block without deltas: each of them is the first number.
    const same = (first: number, count: number): number[] => [
      ...varint(128),
      ...varint(4),
      ...varint(count),
      ...varint(first * 2),
      0,
      0,
      0,
      0,
      0,
    ];
    const count = 100;
    const huge = Buffer.from([...same(2 ** 29, count), ...same(2 ** 29, count)]);
    await expect(page(header(huge.length, count, PREFIXES), huge)).rejects.toThrow(/missing|more than/);
    const growing = Buffer.from([...same(0, count), ...same(2 ** 29, count)]);
    await expect(page(header(growing.length, count, PREFIXES), growing)).rejects.toThrow('more than 67108864');
    const lengths = Buffer.from(same(2 ** 29, count));
    await expect(page(header(lengths.length, count, LENGTHS), lengths)).rejects.toThrow('too early');
  });

  it('a page that decompresses to more than it states is refused', async () => {
    const { gzipSync } = await import('node:zlib');
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const { decompressPage } = await import('../../../src/formats/parquet/codecs.ts');
    expect(() => decompressPage('GZIP', bomb, 100)).toThrow();
    expect(() => decompressPage('SNAPPY', new Uint8Array([255, 255, 255, 255, 15, 0, 1]), 100)).toThrow();
    // Memory of its own: no length within a page reaches other memory of the process.
    const small = decompressPage('GZIP', gzipSync('abc'), 3);
    expect(small.buffer.byteLength).toBe(3);
  });
});

it('decimals and times beyond every calendar are shown as they are stored', async () => {
  const columns = [
    { name: 'd', type: { type: 'INT32', converted_type: 'DATE' } },
    { name: 't', type: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' } },
    { name: 's', type: { type: 'INT64', converted_type: 'DECIMAL', scale: 2_000_000_000, precision: 5 } },
  ] as const;
  const path = await put(folder, 'odd.parquet', parquetFile(columns, [[2_147_483_647, 9_223_372_036_854_775_807n, 5n]]));
  const { cellText } = await import('../../../src/formats/parquet/column-type.ts');
  const file = { uri: path, path, size: (await readFile(path)).length, digest: '' };
  const { columns: found } = await readFooter(file);
  for await (const { columns: cells } of readParquetRows(file, 0))
    expect(cells.map(([cell], i) => cellText(cell ?? null, found[i]?.type ?? {}))).toEqual(['2147483647', '9223372036854775807', '5']);
});
