import { describe, expect, it } from 'vitest';
import * as fc from '../support/fast-check.ts';
import type { Contribution } from '../../src/processor/contribution.ts';
import { ProviderTallying } from '../../src/writer/provider-tally.ts';

const KINDS = ['matched', 'missed', 'suppressed', 'failed', 'unavailable'] as const;
const one = (provider: string, kind: Contribution['kind'], more: Partial<Contribution> = {}): Contribution => ({
  step: 'enrich',
  provider,
  kind,
  fields: kind === 'matched' ? 1 : 0,
  isFirst: true,
  ...more,
});
const contribution = fc.record({
  step: fc.constantFrom('enrich' as const, 'verify' as const),
  provider: fc.constantFrom('a', 'b'),
  kind: fc.constantFrom(...KINDS),
  fields: fc.nat(3),
  isFirst: fc.boolean(),
});

describe('the tally of providers', () => {
  it('counts every lookup once, by its end, and is the same when a resume continues it', () => {
    fc.assert(
      fc.property(fc.array(fc.array(contribution, { maxLength: 4 }), { maxLength: 20 }), fc.nat(20), (rows, at) => {
        const whole = new ProviderTallying();
        for (const row of rows) whole.add(row);
        const first = new ProviderTallying();
        for (const row of rows.slice(0, at)) first.add(row);
        const second = new ProviderTallying(first.snapshot());
        for (const row of rows.slice(at)) second.add(row);
        expect(second.snapshot()).toEqual(whole.snapshot());
        for (const counts of Object.values(whole.snapshot()).flatMap((providers) => Object.values(providers)))
          expect(KINDS.reduce((sum, kind) => sum + counts[kind], 0)).toBe(counts.asked);
      }),
    );
  });

  it('counts the answers of a retry in place of the failures before', () => {
    const tallying = new ProviderTallying();
    tallying.add([one('a', 'failed'), one('b', 'missed')]);
    tallying.add([one('a', 'missed'), one('b', 'unavailable')]);
    tallying.addRetried([one('a', 'matched')], { step: 'enrich', code: 'http_500', provider: 'a' });
    tallying.addRetried([one('a', 'missed'), one('b', 'matched')], { step: 'enrich', code: 'unavailable', provider: 'b' });
    expect(tallying.snapshot().enrich).toMatchObject({
      a: { asked: 2, matched: 1, missed: 1, failed: 0 },
      b: { asked: 2, matched: 1, missed: 1, unavailable: 0 },
    });
  });

  it('counts the steps after the failed one of a retry as new', () => {
    const tallying = new ProviderTallying();
    tallying.add([one('a', 'failed')]);
    tallying.addRetried([one('a', 'matched'), one('v', 'matched', { step: 'verify' })], { step: 'enrich', code: 'timeout', provider: 'a' });
    expect(tallying.snapshot()).toMatchObject({
      enrich: { a: { asked: 1, matched: 1, failed: 0 } },
      verify: { v: { asked: 1, matched: 1 } },
    });
  });
});
