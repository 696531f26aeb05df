import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { UsedAnswers } from '../../src/ledger/used-answers.ts';

it('a run remembers exactly the answers that it used, over any number of reopenings', () => {
  const id = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 32_760, max: 32_780 }), fc.integer({ min: 1, max: 10_000_000 }));
  fc.assert(
    fc.property(fc.array(fc.array(id, { maxLength: 50 }), { minLength: 1, maxLength: 5 }), fc.array(id), (runs, others) => {
      const disk = new Map<number, Uint8Array>();
      const expected = new Set<number>();
      for (const ids of runs) {
        const used = new UsedAnswers();
        for (const [block, bits] of disk) used.load(block, bits);
        for (const each of ids) {
          used.add(each);
          expected.add(each);
        }
        for (const [block, bits] of used.changed()) disk.set(block, Uint8Array.from(bits));
        used.kept();
        expect(used.changed()).toEqual([]);
        for (const each of [...expected, ...others]) expect(used.has(each)).toBe(expected.has(each));
      }
    }),
  );
});
