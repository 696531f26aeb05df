import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { score, type ScoreFacts } from '../../src/verification/score.ts';

const GOOD: ScoreFacts = { outcome: 'accepted', acceptAll: false, disposable: false, suspectedDisposable: false, role: false, probableTypo: false, implicitMx: false, fitsPattern: false, deliveredIn90Days: false };

const facts: fc.Arbitrary<ScoreFacts> = fc.record({
  outcome: fc.constantFrom('accepted', 'mailbox_full', 'unknown', 'not_checked', 'undeliverable'),
  acceptAll: fc.constantFrom(true, false, null),
  disposable: fc.boolean(),
  suspectedDisposable: fc.boolean(),
  role: fc.boolean(),
  probableTypo: fc.boolean(),
  implicitMx: fc.boolean(),
  fitsPattern: fc.boolean(),
  deliveredIn90Days: fc.boolean(),
});

describe('score', () => {
  it.each<[string, Partial<ScoreFacts>, number]>([
    ['accepted, accept-all disproved', {}, 97],
    ['accepted, accept-all unknown', { acceptAll: null }, 75],
    ['accept-all', { acceptAll: true }, 50],
    ['mailbox full', { outcome: 'mailbox_full' }, 40],
    ['unknown', { outcome: 'unknown', acceptAll: null }, 30],
    ['undeliverable', { outcome: 'undeliverable', deliveredIn90Days: true }, 0],
    ['the cap of 100', { deliveredIn90Days: true }, 100],
    ['the cap of a role', { role: true, deliveredIn90Days: true }, 80],
    ['the cap of accept-all', { acceptAll: true, deliveredIn90Days: true, fitsPattern: true }, 80],
    ['the cap of unknown', { outcome: 'unknown', deliveredIn90Days: true, fitsPattern: true }, 60],
    ['the cap of disposable', { disposable: true }, 20],
    ['the cap of a suspicion', { suspectedDisposable: true }, 60],
    ['a role', { role: true, acceptAll: null }, 60],
    ['a probable typo', { outcome: 'unknown', probableTypo: true }, 5],
    ['never below 0', { outcome: 'unknown', probableTypo: true, role: true, implicitMx: true }, 0],
  ])('%s', (_name, change, expected) => {
    expect(score({ ...GOOD, ...change }).confidence).toBe(expected);
  });

  it('is the sum of its points, within 0 and 100, and the same every time', () => {
    fc.assert(
      fc.property(facts, (given) => {
        const { confidence, factors } = score(given);
        expect(factors.reduce((sum, { points }) => sum + points, 0)).toBe(confidence);
        expect(confidence).toBeGreaterThanOrEqual(0);
        expect(confidence).toBeLessThanOrEqual(100);
        expect(score({ ...given })).toEqual({ confidence, factors });
        if (given.outcome === 'undeliverable') expect(confidence).toBe(0);
      }),
    );
  });

  it('is never raised by bad news', () => {
    fc.assert(
      fc.property(facts, fc.constantFrom('disposable', 'suspectedDisposable', 'role', 'probableTypo', 'implicitMx'), (given, bad) => {
        expect(score({ ...given, [bad]: true }).confidence).toBeLessThanOrEqual(score({ ...given, [bad]: false }).confidence);
      }),
    );
  });
});
