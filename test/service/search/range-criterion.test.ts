import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { BLOCK, emptyBits, numbersIn, setBit } from '../../../src/service/search/bitmap.ts';
import { digitTerm, forEachDigit, numberStem } from '../../../src/service/search/numbers.ts';
import { PostingReader } from '../../../src/service/search/posting-reader.ts';
import { PostingWriter } from '../../../src/service/search/postings.ts';
import { rangeCriterion } from '../../../src/service/search/range-criterion.ts';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { emptyStore } from '../loading.ts';

/** So many that some digits are kept as bits and some, which few have, as lists; and a block of few, in which some digits are nobody's. */
const ROWS = [...Array.from({ length: 12_000 }, (_, n) => n), BLOCK + 3, BLOCK + 700, BLOCK + 65_535];
const valueOf = (row: number): number | null => (row % 11 === 0 ? null : row % 40 === 0 ? 100 : row >= BLOCK ? 5 : (row * 7) % 64);

/** One of few digits and one of so many that most are nobody's. */
const NAMES = ['years_experience', 'revenue'] as const;

it('finds the numbers from one to another, however the rows of a digit are kept and as often as they are asked for, and changes none of them', async () => {
  const store = await emptyStore();
  const writer = new PostingWriter(store, 'person');
  transaction(store, () => {
    for (const row of ROWS) {
      const value = valueOf(row);
      const terms = value === null ? [] : NAMES.map((name) => numberStem(name));
      if (value !== null) forEachDigit(value, (digit) => terms.push(...NAMES.map((name) => digitTerm(numberStem(name), digit))));
      writer.change(row, null, { terms, numbers: Uint32Array.from(terms.keys()) }, { from: 0, to: terms.length });
    }
    writer.flush();
  });
  const sizes = store.prepare('SELECT length(bits) AS size FROM person_postings').all().map(({ size }) => size as number);
  expect([sizes.includes(BLOCK / 8), sizes.some((size) => size < BLOCK / 8)]).toEqual([true, true]);
  // Nothing is kept, something at a time, and all.
  const readers = [0, 6 * BLOCK / 8, 64 * BLOCK].map((room) => new PostingReader(store, 'person', room));
  const bound = fc.option(fc.oneof({ weight: 4, arbitrary: fc.integer({ min: -2, max: 130 }) }, fc.constantFrom(2 ** 12, 2 ** 42)));
  fc.assert(
    fc.property(fc.constantFrom(...readers), fc.constantFrom(...NAMES), bound, bound, fc.constantFrom(1, 3), (reader, name, min, max, step) => {
      const criterion = rangeCriterion({ kind: 'range', name, of: '', min, max }, reader);
      for (const block of [0, 1]) {
        const [among, found] = [emptyBits(BLOCK), emptyBits(BLOCK)];
        const asked = ROWS.filter((row) => Math.floor(row / BLOCK) === block && row % step === 0);
        for (const row of asked) setBit(among, row % BLOCK);
        criterion?.addTo(block, found, among);
        const expected = asked.filter((row) => {
          const value = valueOf(row);
          return value !== null && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
        });
        expect([...numbersIn(found)].map((n) => block * BLOCK + n)).toEqual(expected);
      }
    }),
    { numRuns: 150 },
  );
  store.close();
});
