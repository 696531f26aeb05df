import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { BLOCK, emptyBitmap, rowsIn, setBit } from '../../../src/service/store/index/bitmap.ts';
import { addInRange } from '../../../src/service/search/column-scan.ts';
import { ColumnReader, ColumnWriter } from '../../../src/service/store/index/sort-columns.ts';
import { CHUNK } from '../../../src/service/store/index/packed-chunk.ts';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { emptyStore } from '../loading.ts';

const DAY = 86_400_000;
/** The numbers of a chunk: few days, many days, seconds, milliseconds far apart, and all equal. */
const KINDS = [
  (n: number) => (n % 7) * DAY,
  (n: number) => (n % 900) * DAY,
  (n: number) => n * 1_000,
  (n: number) => (n * 7_919_317) % 1e12,
  () => 5 * DAY,
] as const;
const ROWS = Array.from({ length: 2 * BLOCK }, (_, row) => row).filter((row) => row % CHUNK < 70 && row % 3 !== 0);
const timeOf = (row: number): number => (KINDS[Math.floor(row / CHUNK) % KINDS.length] as (typeof KINDS)[number])(row % CHUNK) - 2 * DAY;

it('a scan of a column finds the rows within its bounds for every chunk form and cache size', async () => {
  const store = await emptyStore();
  const writer = new ColumnWriter(store, 'person_times');
  transaction(store, () => {
    for (const row of ROWS) writer.change(row, timeOf(row));
    writer.flush();
  });
  const readers = [0, 50_000, 1_000_000].map((room) => new ColumnReader(store, 'person_times', room));
  const bound = fc.oneof(
    fc.constantFrom(-Infinity, Infinity, 1, 5 * DAY - 2 * DAY),
    fc.integer({ min: -3, max: 60 }).map((day) => day * DAY),
    fc.integer({ min: 0, max: 1e12 }),
  );
  let found = 0;
  fc.assert(
    fc.property(
      fc.constantFrom(...readers),
      fc.constantFrom(0, 1),
      bound,
      bound,
      fc.constantFrom(1, 2, 41),
      (reader, block, one, other, step) => {
        const [min, max] = [Math.min(one, other), Math.max(one, other)];
        const asked = ROWS.filter((row) => Math.floor(row / BLOCK) === block && row % step === 0);
        const [among, into] = [emptyBitmap(BLOCK), emptyBitmap(BLOCK)];
        for (const row of asked) setBit(among, row % BLOCK);
        // A row in the bitmap already stays.
        setBit(into, BLOCK - 1);
        addInRange(reader, block, { min, max }, into, among);
        const expected = asked.filter((row) => timeOf(row) >= min && timeOf(row) <= max).map((row) => row % BLOCK);
        found += expected.length;
        expect([...rowsIn(into)]).toEqual([...expected, BLOCK - 1]);
      },
    ),
    { numRuns: 200 },
  );
  expect(found).toBeGreaterThan(0);
  expect(readers.map((reader) => reader.uncachedChunks > 0)).toEqual([true, true, false]);
  store.close();
});
