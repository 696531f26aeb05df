/** How far the records are that are read and not yet written. */
import { expect, test } from 'vitest';
import { RecordsOnTheWay } from '../../../src/job/run/on-the-way.ts';
import type { RecordOutcome } from '../../../src/processor/result.ts';
import * as fc from '../../support/fast-check.ts';

const outcome = fc.option(fc.constantFrom<RecordOutcome>('matched', 'no_match', 'failed'));
const STEPS = 3;

test('settled steps and outcomes are those of the records on the way, whatever the order in which they settle and are written', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(9), fc.integer({ min: 0, max: STEPS }), outcome), { maxLength: 80 }), (events) => {
      const all = new RecordsOnTheWay();
      const records = Array.from({ length: 10 }, () => all.begin());
      const model = new Map<number, readonly [number, RecordOutcome | null]>();
      for (const [at, settled, said] of events) {
        // No step settled: the row is written.
        if (settled === 0) {
          records[at]?.written();
          model.delete(at);
        } else {
          records[at]?.is(settled / STEPS, said);
          model.set(at, [settled, said]);
        }
        const open = [...model.values()];
        expect(all.settled).toBeCloseTo(open.reduce((sum, [steps]) => sum + steps, 0) / STEPS, 5);
        for (const name of ['matched', 'no_match', 'failed'] as const)
          expect(all.outcomes[name]).toBe(open.filter(([, one]) => one === name).length);
      }
    }),
  );
});
