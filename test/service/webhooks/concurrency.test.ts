import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { ConcurrencySlots, type Destination } from '../../../src/service/webhooks/concurrency.ts';

const [TOTAL, PER_HOST] = [64, 16];
const make = (): ConcurrencySlots => new ConcurrencySlots({ total: TOTAL, perHost: PER_HOST });
const destination: fc.Arbitrary<Destination> = fc.record({
  keyId: fc.constantFrom('a', 'b', 'c'),
  host: fc.constantFrom('one', 'two', 'three', 'four', 'five'),
});
const steps = fc.array(fc.oneof(fc.record({ take: destination }), fc.record({ release: fc.nat(), isHealthy: fc.boolean() })), {
  maxLength: 300,
  size: 'max',
});

/** Runs steps. Calls `check` before each with the slots, the attempts under way and the failing destinations. */
function run(
  done: readonly (typeof steps extends fc.Arbitrary<infer T> ? T : never)[number][],
  check: (slots: ConcurrencySlots, underWay: readonly Destination[], failing: ReadonlySet<string>, next: Destination | null) => void,
): void {
  const [slots, underWay, failing] = [make(), [] as Destination[], new Set<string>()];
  for (const step of done) {
    check(slots, underWay, failing, 'take' in step ? step.take : null);
    if ('take' in step) {
      if (slots.freeFor(step.take) === 0) continue;
      slots.acquire(step.take);
      underWay.push(step.take);
    } else if (underWay.length > 0) {
      const [one] = underWay.splice(step.release % underWay.length, 1) as [Destination];
      slots.release(one, step.isHealthy);
      const name = `${one.keyId} ${one.host}`;
      if (step.isHealthy) failing.delete(name);
      else failing.add(name);
    }
  }
}

describe('slots', () => {
  it('follow the rule: a key may take one while it holds fewer than are free; a failing destination gets one', () => {
    fc.assert(
      fc.property(steps, (done) =>
        run(done, (slots, underWay, failing, next) => {
          if (next === null) return;
          const { keyId, host } = next;
          const ofHost = underWay.filter((one) => one.host === host);
          const heldByKey = (held: readonly Destination[]): number => held.filter((one) => one.keyId === keyId).length;
          const isFree =
            heldByKey(underWay) < TOTAL - underWay.length &&
            heldByKey(ofHost) < PER_HOST - ofHost.length &&
            !(failing.has(`${keyId} ${host}`) && heldByKey(ofHost) > 0);
          expect([slots.freeFor(next) > 0, slots.isFull(keyId), slots.available]).toEqual([
            isFree,
            heldByKey(underWay) >= TOTAL - underWay.length,
            TOTAL - underWay.length,
          ]);
        }),
      ),
    );
  });

  it('report as free the number that can be acquired one after the other, and a copy acquires none of them', () => {
    fc.assert(
      fc.property(steps, destination, (done, next) => {
        let last = make();
        run(done, (slots) => {
          last = slots;
        });
        const [free, copy] = [last.freeFor(next), last.copy()];
        let taken = 0;
        for (; copy.freeFor(next) > 0; taken++) copy.acquire(next);
        expect([taken, last.freeFor(next)]).toEqual([free, free]);
      }),
    );
  });

  it('never all belong to one key, in total or at one host', () => {
    const slots = make();
    for (let n = 0; n < 100; n++)
      for (const host of ['one', 'two', 'three', 'four', 'five'])
        if (slots.freeFor({ keyId: 'a', host }) > 0) slots.acquire({ keyId: 'a', host });
    expect([slots.available, slots.freeFor({ keyId: 'b', host: 'one' })]).toEqual([TOTAL / 2, 5]);
    const oneHost = make();
    while (oneHost.freeFor({ keyId: 'a', host: 'one' }) > 0) oneHost.acquire({ keyId: 'a', host: 'one' });
    expect([TOTAL - oneHost.available, oneHost.freeFor({ keyId: 'b', host: 'one' })]).toEqual([PER_HOST / 2, PER_HOST / 4]);
  });
});
