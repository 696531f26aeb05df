import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AbsenceFilter } from '../../src/ledger/absence-filter.ts';
import { keyHash } from '../../src/ledger/key-hash.ts';

const scopes = fc.oneof(fc.nat({ max: 20 }), fc.integer());
const keys = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.emailAddress(), fc.domain());

/** One key in how many that were never added is taken for one that may have been. */
function falseShare(filter: AbsenceFilter, scope: number, name: (i: number) => string, tries: number): number {
  let wrong = 0;
  for (let i = 0; i < tries; i++) if (!filter.isAbsent(keyHash(scope, name(i)))) wrong++;
  return wrong / tries;
}

describe('AbsenceFilter', () => {
  it('never says absent of a key that was added', () => {
    const filter = new AbsenceFilter();
    fc.assert(
      fc.property(fc.array(fc.tuple(scopes, keys), { maxLength: 200 }), (added) => {
        for (const [scope, key] of added) filter.add(keyHash(scope, key));
        for (const [scope, key] of added) expect(filter.isAbsent(keyHash(scope, key))).toBe(false);
      }),
    );
  });

  it('says absent of everything while it is empty', () => {
    const filter = new AbsenceFilter();
    fc.assert(fc.property(scopes, keys, (scope, key) => filter.isAbsent(keyHash(scope, key))));
  });

  it('looks changing nothing', () => {
    const filter = new AbsenceFilter();
    for (let time = 0; time < 2; time++) expect(filter.isAbsent(keyHash(1, 'ana@works.example'))).toBe(true);
  });

  // Names that differ in a digit alone, as real ones do, and of one scope.
  const added = (i: number): string => `person${i}@works${i % 50}.example`;
  const absent = (i: number): string => `nobody${i}@works${i % 50}.example`;

  it('at 4 million keys, at most one absent key in 500 has to be looked up after all; at a million one in 2,000', () => {
    const filter = new AbsenceFilter();
    for (let i = 0; i < 1_000_000; i++) filter.add(keyHash(1, added(i)));
    expect(falseShare(filter, 1, absent, 100_000)).toBeLessThan(1 / 2_000);
    // The same names under another step's scope are other keys.
    expect(falseShare(filter, 2, added, 100_000)).toBeLessThan(1 / 2_000);
    for (let i = 1_000_000; i < 4_000_000; i++) filter.add(keyHash(1, added(i)));
    expect(falseShare(filter, 1, absent, 100_000)).toBeLessThan(1 / 500);
    expect(falseShare(filter, 2, added, 100_000)).toBeLessThan(1 / 500);
    for (let i = 0; i < 4_000_000; i += 9_973) expect(filter.isAbsent(keyHash(1, added(i)))).toBe(false);
  });
});
