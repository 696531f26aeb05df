import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { score, type ScoreFacts } from '../../src/verification/score.ts';

const GOOD: ScoreFacts = {
  outcome: 'accepted',
  acceptAll: false,
  disposable: false,
  suspectedDisposable: false,
  role: false,
  probableTypo: false,
  implicitMx: false,
  fitsPattern: false,
  deliveredIn90Days: false,
};

const facts: fc.Arbitrary<ScoreFacts> = fc.record({
  outcome: fc.constantFrom(
    'accepted',
    'delivered',
    'verified',
    'mailbox_full',
    'unknown',
    'not_checked',
    'undeliverable',
    'bounced',
    'found_dead',
  ),
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
    ['a recorded bounce', { outcome: 'bounced', deliveredIn90Days: true }, 0],
    ['a recorded delivery', { outcome: 'delivered', deliveredIn90Days: true }, 100],
    ['a recorded delivery in an accept-all domain', { outcome: 'delivered', deliveredIn90Days: true, acceptAll: true }, 75],
    ['a recorded verdict, whatever the store says of accept-all', { outcome: 'verified', acceptAll: false }, 75],
    ['the cap of 100', { deliveredIn90Days: true }, 100],
    ['the cap of a role', { role: true, deliveredIn90Days: true }, 80],
    ['the cap of accept-all', { acceptAll: true, deliveredIn90Days: true, fitsPattern: true }, 80],
    ['the cap of unknown', { outcome: 'unknown', deliveredIn90Days: true, fitsPattern: true }, 60],
    ['the cap of disposable', { disposable: true }, 20],
    ['the cap of a suspicion', { suspectedDisposable: true }, 60],
    ['a role', { role: true, acceptAll: null }, 60],
    ['a probable typo', { outcome: 'unknown', probableTypo: true }, 5],
    ['never below 0', { outcome: 'unknown', probableTypo: true, role: true, implicitMx: true }, 0],
  ])('the confidence of %s', (_name, change, expected) => {
    expect(score({ ...GOOD, ...change }).confidence).toBe(expected);
  });

  it('the confidence is the sum of the points, from 0 to 100, and does not depend on the order of the facts', () => {
    fc.assert(
      fc.property(facts, (given) => {
        const { confidence, factors } = score(given);
        expect(factors.reduce((sum, { points }) => sum + points, 0)).toBe(confidence);
        expect(confidence).toBeGreaterThanOrEqual(0);
        expect(confidence).toBeLessThanOrEqual(100);
        expect(score(Object.fromEntries(Object.entries(given).reverse()) as unknown as ScoreFacts)).toEqual({ confidence, factors });
      }),
    );
  });

  it('an undeliverable address scores 0 without adjustments', () => {
    fc.assert(
      fc.property(facts, fc.constantFrom('undeliverable', 'bounced', 'found_dead'), (given, outcome) => {
        const { confidence, factors } = score({ ...given, outcome });
        expect([confidence, factors.map(({ points }) => points)]).toEqual([0, [0]]);
      }),
    );
  });

  it('the confidence obeys every cap, and at most one cap is reported', () => {
    const caps: readonly [(given: ScoreFacts) => boolean, number][] = [
      [({ disposable }) => disposable, 20],
      [({ suspectedDisposable }) => suspectedDisposable, 60],
      [({ outcome }) => outcome === 'unknown' || outcome === 'not_checked', 60],
      [({ role }) => role, 80],
      [({ acceptAll }) => acceptAll === true, 80],
    ];
    fc.assert(
      fc.property(facts, (given) => {
        const { confidence, factors } = score(given);
        for (const [holds, cap] of caps) if (holds(given)) expect(confidence).toBeLessThanOrEqual(cap);
        const bound = factors.filter(({ factor }) => factor.startsWith('cap'));
        expect(bound.length).toBeLessThanOrEqual(1);
        for (const { points } of bound) expect(points).toBeLessThan(0);
      }),
    );
  });

  /** Each row lists changes to the facts from good to bad. */
  const BAD_NEWS: readonly Partial<ScoreFacts>[][] = [
    ...(['disposable', 'suspectedDisposable', 'role', 'probableTypo', 'implicitMx'] as const).map((bad) => [
      { [bad]: false },
      { [bad]: true },
    ]),
    ...(['fitsPattern', 'deliveredIn90Days'] as const).map((good) => [{ [good]: true }, { [good]: false }]),
    [{ acceptAll: false }, { acceptAll: null }, { acceptAll: true }],
    [{ outcome: 'accepted' }, { outcome: 'mailbox_full' }, { outcome: 'unknown' }, { outcome: 'undeliverable' }],
    [{ outcome: 'delivered' }, { outcome: 'verified' }, { outcome: 'not_checked' }, { outcome: 'bounced' }],
    [{ outcome: 'verified' }, { outcome: 'not_checked' }, { outcome: 'found_dead' }],
  ];

  it('worse facts never raise the confidence', () => {
    fc.assert(
      fc.property(facts, fc.constantFrom(...BAD_NEWS), (given, worse) => {
        const scores = worse.map((news) => score({ ...given, ...news }).confidence);
        expect(scores).toEqual(scores.toSorted((one, other) => other - one));
      }),
      { numRuns: 1_000 },
    );
  });
});
