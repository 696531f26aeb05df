import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { emptyBitmap, rowsIn } from '../../../../src/service/store/index/bitmap.ts';
import { PostingReader } from '../../../../src/service/search/posting-reader.ts';
import { PostingWriter } from '../../../../src/service/store/index/posting-writer.ts';
import { transaction } from '../../../../src/sqlite/transaction.ts';
import { emptyStore } from '../../loading.ts';

/** One term has half a surrogate pair, which SQLite returns as U+FFFD. */
const TERMS = ['a', 'b', 'c', '\ud800d'];
/** Rows in three blocks. */
const ROWS = [5, 6, 70_000, 140_000];
const BLOCKS = 3;
const BLOCK = 65_536;

it('posting lists have the rows of each term, whatever moves between blocks in one transaction', async () => {
  // Rows that are not written in the end only ask for the term list.
  const change = fc.record({ row: fc.constantFrom(...ROWS), terms: fc.subarray(TERMS), isPut: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(change, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 5 }),
      fc.boolean(),
      async (transactions, areTogether) => {
        const store = await emptyStore();
        const writer = new PostingWriter(store, 'person');
        const has = new Map<number, readonly string[]>();
        const stored = new Map<number, Uint8Array>();
        for (const changes of transactions) {
          transaction(store, () => {
            // One table for all rows, as in a batch, or one for each row.
            for (const batch of areTogether ? [changes] : changes.map((one) => [one])) {
              const table = {
                terms: TERMS,
                numbers: Uint32Array.from(batch.flatMap(({ terms }) => terms.map((term) => TERMS.indexOf(term)))),
              };
              let from = 0;
              for (const { row, terms, isPut } of batch) {
                const to = from + terms.length;
                if (!isPut) writer.termList(table, { from, to });
                else {
                  stored.set(row, writer.change(row, stored.get(row) ?? null, table, { from, to }));
                  has.set(row, terms);
                }
                from = to;
              }
            }
            writer.flush();
          });
          const reader = new PostingReader(store, 'person');
          for (const term of TERMS) {
            const posting = reader.list(term);
            const found = Array.from({ length: BLOCKS }, (_, block) => {
              const bits = emptyBitmap(BLOCK);
              posting.addTo(block, bits);
              return [...rowsIn(bits)].map((row) => block * BLOCK + row);
            }).flat();
            expect(found).toEqual(ROWS.filter((row) => has.get(row)?.includes(term)));
          }
          // A term without rows is gone.
          expect(
            store
              .prepare('SELECT term FROM person_terms ORDER BY term')
              .all()
              .map(({ term }) => term),
          ).toEqual(TERMS.filter((term) => ROWS.some((row) => has.get(row)?.includes(term))).map((term) => term.toWellFormed()));
        }
        store.close();
      },
    ),
    { numRuns: 30 },
  );
});
