import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { lookupHash } from '../../src/ledger/key-hash.ts';
import { RecentAnswers } from '../../src/ledger/recent-answers.ts';

it('finds every answer under its hash, newest first, also when many share one hash', () => {
  // Few distinct hashes: many are equal, adjacent, or at the end of the table.
  const hash = fc.oneof(
    fc.integer({ min: 0, max: 20 }).map((n) => n * 2 ** 20),
    fc.constantFrom(2 ** 52 - 1, 2 ** 52 - 2 ** 20),
    fc.maxSafeInteger().map((n) => Math.abs(n) % 2 ** 52),
  );
  fc.assert(
    fc.property(fc.array(hash, { maxLength: 12_000, size: 'max' }), (hashes) => {
      const recent = new RecentAnswers();
      const expected = new Map<number, number[]>();
      hashes.forEach((each, id) => {
        recent.add(each, id);
        expected.set(each, [id, ...(expected.get(each) ?? [])]);
      });
      expect(recent.size).toBe(hashes.length);
      for (const [each, ids] of expected) expect(recent.idsOf(each)).toEqual(ids);
      expect(recent.idsOf(7 * 2 ** 20 + 1)).toEqual([]);
      expect([...recent.sortedHashes()]).toEqual([...hashes].sort((a, b) => a - b));
    }),
    { numRuns: 20 },
  );
});

it('lookupHash gives 100,000 different keys different hashes of 52 bits', () => {
  const seen = new Set<number>();
  for (let i = 0; i < 100_000; i++) {
    const hash = lookupHash(i % 3, `person${i}@works${i % 50}.example`);
    expect(Number.isSafeInteger(hash) && hash >= 0 && hash < 2 ** 52).toBe(true);
    seen.add(hash);
  }
  expect(seen.size).toBe(100_000);
  expect(lookupHash(1, 'a')).not.toBe(lookupHash(2, 'a'));
});
