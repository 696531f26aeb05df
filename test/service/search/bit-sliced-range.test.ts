import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { BLOCK, emptyBitmap, rowsIn, setBit } from '../../../src/service/store/index/bitmap.ts';
import { sliceTerm, forEachSetBit, existsTerm } from '../../../src/service/store/index/bit-slices.ts';
import { PostingReader } from '../../../src/service/search/posting-reader.ts';
import { PostingWriter } from '../../../src/service/store/index/posting-writer.ts';
import { compileRange } from '../../../src/service/search/bit-sliced-range.ts';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { emptyStore } from '../loading.ts';
import { toEnd } from '../../support/steps.ts';

/** A block where some slices are stored as bits and some as lists, and a block of few rows with empty slices. */
const ROWS = [...Array.from({ length: 12_000 }, (_, n) => n), BLOCK + 3, BLOCK + 700, BLOCK + 65_535];
const valueOf = (row: number): number | null => (row % 11 === 0 ? null : row % 40 === 0 ? 100 : row >= BLOCK ? 5 : (row * 7) % 64);

/** A field of few digits, and one with many empty slices. */
const FIELDS = ['years_experience', 'revenue'] as const;

it('a range over bit slices finds the rows within it for every block form and cache size, and changes no cached block', async () => {
  const store = await emptyStore();
  const writer = new PostingWriter(store, 'person');
  transaction(store, () => {
    for (const row of ROWS) {
      const value = valueOf(row);
      const terms = value === null ? [] : FIELDS.map((name) => existsTerm(name));
      if (value !== null) forEachSetBit(value, (digit) => terms.push(...FIELDS.map((name) => sliceTerm(existsTerm(name), digit))));
      writer.change(row, null, { terms, numbers: Uint32Array.from(terms.keys()) }, { from: 0, to: terms.length });
    }
    writer.flush();
  });
  const sizes = store
    .prepare('SELECT length(bits) AS size FROM person_postings')
    .all()
    .map(({ size }) => size as number);
  expect([sizes.includes(BLOCK / 8), sizes.some((size) => size < BLOCK / 8)]).toEqual([true, true]);
  // The cache holds nothing, a part, or everything.
  const readers = [0, (6 * BLOCK) / 8, 64 * BLOCK].map((room) => new PostingReader(store, 'person', room));
  const bound = fc.option(fc.oneof({ weight: 4, arbitrary: fc.integer({ min: -2, max: 130 }) }, fc.constantFrom(2 ** 12, 2 ** 42)));
  fc.assert(
    fc.property(
      fc.constantFrom(...readers),
      fc.constantFrom(...FIELDS),
      bound,
      bound,
      fc.constantFrom(1, 3),
      (reader, field, min, max, step) => {
        const compiled = compileRange({ kind: 'range', field, key: '', min, max }, reader);
        for (const block of [0, 1]) {
          const [among, found] = [emptyBitmap(BLOCK), emptyBitmap(BLOCK)];
          const asked = ROWS.filter((row) => Math.floor(row / BLOCK) === block && row % step === 0);
          for (const row of asked) setBit(among, row % BLOCK);
          if (compiled !== null) toEnd(compiled.addTo(block, found, among));
          const expected = asked.filter((row) => {
            const value = valueOf(row);
            return value !== null && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
          });
          expect([...rowsIn(found)].map((n) => block * BLOCK + n)).toEqual(expected);
        }
      },
    ),
    { numRuns: 150 },
  );
  store.close();
});
