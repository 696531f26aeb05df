import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { describeEvidence, weigh } from '../../src/verification/evidence.ts';
import type { MailboxEvidence } from '../../src/verification/types.ts';

const NOW = Date.UTC(2026, 5, 1);
const DAY = 86_400_000;
const ago = (kind: MailboxEvidence['kind'], days: number): MailboxEvidence => ({ kind, atMs: NOW - days * DAY });
const evidence: fc.Arbitrary<MailboxEvidence> = fc.record({
  kind: fc.constantFrom('delivered', 'verified', 'bounced', 'found_dead'),
  atMs: fc.option(fc.integer({ min: -5, max: 800 }).map((days) => NOW - days * DAY)),
});

describe('evidence', () => {
  it.each<[string, readonly MailboxEvidence[], MailboxEvidence['kind'] | null]>([
    ['a delivery of 90 days ago', [ago('delivered', 90)], 'delivered'],
    ['an older delivery', [ago('delivered', 91)], null],
    ['a bounce of a year ago', [ago('bounced', 365)], 'bounced'],
    ['an older bounce', [ago('bounced', 366)], null],
    ['a verdict of 30 days ago', [ago('verified', 30)], 'verified'],
    ['an older verdict', [ago('verified', 31)], null],
    ['a delivery after a bounce', [ago('bounced', 10), ago('delivered', 9)], 'delivered'],
    ['a bounce after a delivery', [ago('delivered', 10), ago('bounced', 9)], 'bounced'],
    ['a bounce and a delivery at the same time', [ago('delivered', 9), ago('bounced', 9)], 'bounced'],
    ['a bounce that an old delivery has cleared', [ago('bounced', 200), ago('delivered', 100)], null],
    ['an old verdict beside a delivery that counts', [ago('verified', 40), ago('delivered', 50)], 'delivered'],
    ['a delivery before a newer verdict', [ago('delivered', 20), ago('verified', 10)], 'delivered'],
    ['an undeliverable verdict of 30 days ago', [ago('found_dead', 30)], 'found_dead'],
    ['an older undeliverable verdict', [ago('found_dead', 31)], null],
    ['an undeliverable verdict after a delivery', [ago('delivered', 10), ago('found_dead', 9)], 'found_dead'],
    ['an undeliverable verdict before a delivery', [ago('found_dead', 10), ago('delivered', 9)], 'delivered'],
    ['an undeliverable and a deliverable verdict at the same time', [ago('verified', 9), ago('found_dead', 9)], 'found_dead'],
    ['an outdated undeliverable verdict after a delivery that would count', [ago('delivered', 50), ago('found_dead', 40)], null],
    ['an undeliverable verdict after a bounce', [ago('bounced', 10), ago('found_dead', 5)], 'bounced'],
    ['an outdated undeliverable verdict after a bounce that counts', [ago('bounced', 100), ago('found_dead', 40)], 'bounced'],
    ['evidence of unknown time', [{ kind: 'bounced', atMs: null }], null],
    ['evidence of the future', [ago('delivered', -3)], null],
    ['a clock that is a little ahead', [ago('delivered', -0.5)], 'delivered'],
  ])('%s: %j counts as %s', (_name, recorded, kind) => {
    expect(weigh(recorded, null, NOW).held?.kind ?? null).toBe(kind);
  });

  it('evidence holds in any order only if it has not expired, is not from the future, and no newer bad news contradicts it', () => {
    fc.assert(
      fc.property(
        fc
          .array(evidence, { maxLength: 6 })
          .chain((recorded) => fc.tuple(fc.constant(recorded), fc.shuffledSubarray(recorded, { minLength: recorded.length }))),
        fc.option(fc.integer({ min: 0, max: 800 * 86_400 })),
        ([recorded, shuffled], maxAgeS) => {
          const { held } = weigh(recorded, maxAgeS, NOW);
          expect(weigh(shuffled, maxAgeS, NOW).held).toEqual(held);
          if (held === null) return;
          expect(held.untilMs).toBeGreaterThanOrEqual(NOW);
          expect(held.atMs).toBeLessThanOrEqual(NOW);
          expect(NOW - held.atMs).toBeLessThanOrEqual((maxAgeS ?? Infinity) * 1_000);
          const bad = recorded.filter(
            ({ kind, atMs }) => (kind === 'bounced' || kind === 'found_dead') && atMs !== null && atMs <= NOW + DAY,
          );
          if (held.kind === 'verified' || held.kind === 'delivered') for (const { atMs } of bad) expect(atMs).toBeLessThan(held.atMs);
        },
      ),
    );
  });

  it('one more bounce or undeliverable verdict never improves the result', () => {
    const worth = (recorded: readonly MailboxEvidence[]): number =>
      ({ bounced: 0, found_dead: 0, none: 1, verified: 2, delivered: 3 })[weigh(recorded, null, NOW).held?.kind ?? 'none'];
    fc.assert(
      fc.property(
        fc.array(evidence, { maxLength: 5 }),
        fc.constantFrom('bounced', 'found_dead'),
        fc.integer({ min: 0, max: 800 }),
        (recorded, kind, days) => {
          expect(worth([...recorded, ago(kind, days)])).toBeLessThanOrEqual(worth(recorded));
        },
      ),
    );
  });

  it.each<[readonly MailboxEvidence[], number | null, string, string | null]>([
    [[], null, 'none', null],
    [[ago('delivered', 1)], null, 'delivered', '2026-05-31'],
    [[ago('delivered', 100), ago('bounced', 200)], null, 'outdated', 'delivered 2026-02-21, more than 90 days ago'],
    [[ago('bounced', 5)], 86_400, 'outdated', 'bounced 2026-05-27, longer ago than was asked for'],
    [[{ kind: 'verified', atMs: null }], null, 'outdated', 'verified, of no known day'],
  ])('describes %j by its kind and day, or why it is outdated', (recorded, maxAgeS, result, detail) => {
    expect(describeEvidence(weigh(recorded, maxAgeS, NOW), NOW)).toEqual({ result, detail });
  });
});
