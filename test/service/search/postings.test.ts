import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { emptyBits, numbersIn } from '../../../src/service/search/bitmap.ts';
import { PostingReader } from '../../../src/service/search/posting-reader.ts';
import { PostingWriter } from '../../../src/service/search/postings.ts';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { emptyStore } from '../loading.ts';

/** Half a character among them, which SQLite gives back as another sign. */
const TERMS = ['a', 'b', 'c', '\ud800d'];
/** In three blocks. */
const ROWS = [5, 6, 70_000, 140_000];
const BLOCKS = 3;
const BLOCK = 65_536;

it('has of every term the rows that have it, whatever is taken from one block and given to another in one transaction', async () => {
  // Of a row that is not put after all, the terms are asked for and no more.
  const change = fc.record({ row: fc.constantFrom(...ROWS), terms: fc.subarray(TERMS), isPut: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(change, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 5 }), fc.boolean(), async (transactions, areTogether) => {
      const store = await emptyStore();
      const writer = new PostingWriter(store, 'person');
      const has = new Map<number, readonly string[]>();
      const kept = new Map<number, Uint8Array>();
      for (const changes of transactions) {
        transaction(store, () => {
          // One table for all, as a batch has, or one for each.
          for (const batch of areTogether ? [changes] : changes.map((one) => [one])) {
            const table = { terms: TERMS, numbers: Uint32Array.from(batch.flatMap(({ terms }) => terms.map((term) => TERMS.indexOf(term)))) };
            let from = 0;
            for (const { row, terms, isPut } of batch) {
              const to = from + terms.length;
              if (!isPut) writer.kept(table, { from, to });
              else {
                kept.set(row, writer.change(row, kept.get(row) ?? null, table, { from, to }));
                has.set(row, terms);
              }
              from = to;
            }
          }
          writer.flush();
        });
        const reader = new PostingReader(store, 'person');
        for (const term of TERMS) {
          const posting = reader.posting(term);
          const found = Array.from({ length: BLOCKS }, (_, block) => {
            const bits = emptyBits(BLOCK);
            posting.addTo(block, bits);
            return [...numbersIn(bits)].map((row) => block * BLOCK + row);
          }).flat();
          expect(found).toEqual(ROWS.filter((row) => has.get(row)?.includes(term)));
        }
        // A word that nobody has any more is gone.
        expect(store.prepare('SELECT term FROM person_terms ORDER BY term').all().map(({ term }) => term)).toEqual(TERMS.filter((term) => ROWS.some((row) => has.get(row)?.includes(term))).map((term) => term.toWellFormed()));
      }
      store.close();
    }),
    { numRuns: 30 },
  );
});
