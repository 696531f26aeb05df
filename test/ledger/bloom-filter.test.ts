import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { BloomFilter } from '../../src/ledger/bloom-filter.ts';
import { lookupHash } from '../../src/ledger/key-hash.ts';

const scopes = fc.oneof(fc.nat({ max: 20 }), fc.integer());
const keys = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.emailAddress(), fc.domain());

/** The false positive rate of the filter over `tries` keys that were never added. */
function falsePositiveRate(filter: BloomFilter, scope: number, name: (i: number) => string, tries: number): number {
  let wrong = 0;
  for (let i = 0; i < tries; i++) if (!filter.isAbsent(lookupHash(scope, name(i)))) wrong++;
  return wrong / tries;
}

describe('BloomFilter', () => {
  it('never reports an added key as absent', () => {
    const filter = new BloomFilter();
    fc.assert(
      fc.property(fc.array(fc.tuple(scopes, keys), { maxLength: 200 }), (added) => {
        for (const [scope, key] of added) filter.add(lookupHash(scope, key));
        for (const [scope, key] of added) expect(filter.isAbsent(lookupHash(scope, key))).toBe(false);
      }),
    );
  });

  it('reports every key as absent while it is empty', () => {
    const filter = new BloomFilter();
    fc.assert(fc.property(scopes, keys, (scope, key) => filter.isAbsent(lookupHash(scope, key))));
  });

  it('a lookup does not change the filter', () => {
    const filter = new BloomFilter();
    for (let time = 0; time < 2; time++) expect(filter.isAbsent(lookupHash(1, 'ana@works.example'))).toBe(true);
  });

  // Keys of one scope that differ in their digits only, as real addresses do.
  const added = (i: number): string => `person${i}@works${i % 50}.example`;
  const absent = (i: number): string => `nobody${i}@works${i % 50}.example`;

  it('has a false positive rate below 1 in 2,000 at a million keys, and below 1 in 500 at 4 million', () => {
    const filter = new BloomFilter();
    for (let i = 0; i < 1_000_000; i++) filter.add(lookupHash(1, added(i)));
    expect(falsePositiveRate(filter, 1, absent, 100_000)).toBeLessThan(1 / 2_000);
    // The same names in another scope are different keys.
    expect(falsePositiveRate(filter, 2, added, 100_000)).toBeLessThan(1 / 2_000);
    for (let i = 1_000_000; i < 4_000_000; i++) filter.add(lookupHash(1, added(i)));
    expect(falsePositiveRate(filter, 1, absent, 100_000)).toBeLessThan(1 / 500);
    expect(falsePositiveRate(filter, 2, added, 100_000)).toBeLessThan(1 / 500);
    for (let i = 0; i < 4_000_000; i += 9_973) expect(filter.isAbsent(lookupHash(1, added(i)))).toBe(false);
  });
});
