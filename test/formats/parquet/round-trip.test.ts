import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import type { Cell, ColumnType } from '../../../src/formats/parquet/column-type.ts';
import { readFooter } from '../../../src/formats/parquet/footer.ts';
import { readParquetRows } from '../../../src/formats/parquet/parquet-rows.ts';
import { decodeCells, encodeCells } from '../../../src/formats/parquet/written-cells.ts';
import { put, scratchFolder } from '../helpers.ts';
import { parquetOf } from './written.ts';

const folder = scratchFolder();

const bytes = (length: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: length, maxLength: length });
const text = fc.string({ unit: 'grapheme', maxLength: 30 });

/** Every type that a column of ours may have, with values up to its bounds. */
const TYPES: readonly (readonly [ColumnType, fc.Arbitrary<Cell>])[] = [
  [{ type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } }, text],
  [{ type: 'BYTE_ARRAY', converted_type: 'JSON', logical_type: { type: 'JSON' } }, fc.json()],
  [{ type: 'BYTE_ARRAY', logical_type: { type: 'ENUM' } }, fc.constantFrom('a', 'b', 'c')],
  // Not text: its first byte begins no character.
  [{ type: 'BYTE_ARRAY' }, fc.uint8Array({ maxLength: 20 }).map((some) => new Uint8Array([0xff, ...some]))],
  [{ type: 'BOOLEAN' }, fc.boolean()],
  [{ type: 'INT32' }, fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })],
  [{ type: 'INT32', converted_type: 'UINT_32' }, fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })],
  [{ type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } }, fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })],
  [{ type: 'INT32', converted_type: 'DECIMAL', scale: 2, precision: 9 }, fc.integer({ min: -999_999_999, max: 999_999_999 })],
  [{ type: 'INT64' }, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  [{ type: 'INT64', converted_type: 'UINT_64' }, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  [
    { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'NANOS' } },
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  ],
  [{ type: 'INT64', converted_type: 'TIME_MICROS' }, fc.bigInt({ min: 0n, max: 86_399_999_999n })],
  [{ type: 'DOUBLE' }, fc.double()],
  [{ type: 'FLOAT' }, fc.float()],
  [{ type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } }, bytes(16)],
  [{ type: 'FIXED_LEN_BYTE_ARRAY', type_length: 2, logical_type: { type: 'FLOAT16' } }, bytes(2)],
  [
    {
      type: 'FIXED_LEN_BYTE_ARRAY',
      type_length: 16,
      converted_type: 'DECIMAL',
      scale: 10,
      precision: 38,
      logical_type: { type: 'DECIMAL', scale: 10, precision: 38 },
    },
    bytes(16),
  ],
];

/** Columns of random types, with the rows of some row groups. */
const table = fc.array(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 6 }).chain((types) =>
  fc.tuple(
    fc.constant(types.map(([type], index) => ({ name: `c.${index}`, type }))),
    fc.array(fc.array(fc.tuple(...types.map(([, value]) => fc.option(value, { freq: 4 }))), { minLength: 1, maxLength: 40 }), {
      maxLength: 3,
    }),
  ),
);

it('types and values are read as they were written, from any row on', async () => {
  await fc.assert(
    fc.asyncProperty(table, fc.nat(60), async ([columns, groups], from) => {
      const content = parquetOf(columns, groups);
      const path = await put(folder, 'any.parquet', content);
      const file = { uri: path, path, size: content.length, digest: '' };
      const footer = await readFooter(file);
      expect(footer.columns.map(({ name, type }) => ({ name, type }))).toEqual(columns);
      const found: (readonly Cell[])[] = [];
      for await (const batch of readParquetRows(file, from))
        for (let row = 0; row < batch.rows; row++) found.push(batch.columns.map((cells) => cells[row] ?? null));
      expect(found).toEqual(groups.flat().slice(from));
    }),
    { numRuns: 150 },
  );
});

it('the rows of a row group before it is encoded keep every value', () => {
  const cell = fc.oneof(...TYPES.map(([, value]) => value), fc.constant(null), fc.constantFrom(Number.NaN, -0, Infinity, -Infinity));
  fc.assert(
    fc.property(fc.array(cell, { maxLength: 20 }), (cells) => {
      expect(decodeCells(encodeCells(cells))).toEqual(cells);
      expect(encodeCells(decodeCells(encodeCells(cells)))).toEqual(encodeCells(cells));
    }),
  );
});
