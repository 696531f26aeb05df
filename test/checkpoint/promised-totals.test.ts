/** The spending that a ledger stores beside its answers: what was promised counts with it. */
import { describe, expect, it } from 'vitest';
import * as fc from '../support/fast-check.ts';
import { joinPromised, openOf, type PromisedTotals } from '../../src/checkpoint/promised-totals.ts';
import { spentText, withSpent } from '../../src/checkpoint/spent-totals.ts';
import { CHECKPOINT } from './samples.ts';

const counts = fc.record({ lookups: fc.nat(50), answered: fc.nat(50), charged: fc.nat(50), settled: fc.nat(50) });
const promised: fc.Arbitrary<PromisedTotals> = fc.dictionary(fc.constantFrom('enrich', 'verify'), counts);
const of = (totals: PromisedTotals) => ({ credits: 3, ...(Object.keys(totals).length === 0 ? {} : { promised: totals }) });

describe('promised lookups', () => {
  it('the later state counts, be it of the checkpoint or of the ledger', () => {
    fc.assert(
      fc.property(promised, promised, (one, other) => {
        const later = joinPromised([one, other], (first, second) => first + second);
        for (const [inCheckpoint, inLedger] of [
          [one, later],
          [later, one],
        ] as const) {
          const checkpoint = { ...CHECKPOINT, totals: { ...CHECKPOINT.totals, ...of(inCheckpoint) } };
          expect(withSpent(checkpoint, spentText(of(inLedger), {})).totals.promised ?? {}).toEqual(later);
        }
      }),
    );
  });

  it('the text of a run without any is as it was', () => {
    expect(spentText({ credits: 3 }, {})).toBe('{"run":{"credits":3,"creditsBy":{}},"providers":{}}');
    expect(withSpent(CHECKPOINT, '{"run":{"credits":3,"promised":[7]}}').totals).not.toHaveProperty('promised');
  });

  it('a damaged text never makes fewer than none', () => {
    expect(openOf({ lookups: 1, answered: 2, charged: 0, settled: 5 })).toEqual({ lookups: 0, charged: 0 });
  });
});
