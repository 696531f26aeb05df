import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Slots, type Lane } from '../../../src/service/webhooks/slots.ts';

const [MOST, MOST_A_HOST] = [64, 16];
const make = (): Slots => new Slots({ most: MOST, mostAHost: MOST_A_HOST });
const lane: fc.Arbitrary<Lane> = fc.record({ keyId: fc.constantFrom('a', 'b', 'c'), host: fc.constantFrom('one', 'two', 'three', 'four', 'five') });
const steps = fc.array(fc.oneof(fc.record({ take: lane }), fc.record({ giveBack: fc.nat(), isWell: fc.boolean() })), { maxLength: 300, size: 'max' });

/** Runs steps; `look` sees the slots, what is under way, and the lanes that are in trouble, before each. */
function run(done: readonly (typeof steps extends fc.Arbitrary<infer T> ? T : never)[number][], look: (slots: Slots, underWay: readonly Lane[], troubled: ReadonlySet<string>, next: Lane | null) => void): void {
  const [slots, underWay, troubled] = [make(), [] as Lane[], new Set<string>()];
  for (const step of done) {
    look(slots, underWay, troubled, 'take' in step ? step.take : null);
    if ('take' in step) {
      if (slots.free(step.take) === 0) continue;
      slots.take(step.take);
      underWay.push(step.take);
    } else if (underWay.length > 0) {
      const [one] = underWay.splice(step.giveBack % underWay.length, 1) as [Lane];
      slots.giveBack(one, step.isWell);
      const name = `${one.keyId} ${one.host}`;
      if (step.isWell) troubled.delete(name);
      else troubled.add(name);
    }
  }
}

describe('slots', () => {
  it('are given by rule: one may be taken by who holds fewer than are free, in all and of the host; of a lane in trouble, one', () => {
    fc.assert(fc.property(steps, (done) => run(done, (slots, underWay, troubled, next) => {
      if (next === null) return;
      const { keyId, host } = next;
      const ofHost = underWay.filter((one) => one.host === host);
      const mine = (held: readonly Lane[]): number => held.filter((one) => one.keyId === keyId).length;
      const isFree = mine(underWay) < MOST - underWay.length && mine(ofHost) < MOST_A_HOST - ofHost.length && !(troubled.has(`${keyId} ${host}`) && mine(ofHost) > 0);
      expect([slots.free(next) > 0, slots.isFull(keyId), slots.room]).toEqual([isFree, mine(underWay) >= MOST - underWay.length, MOST - underWay.length]);
    })));
  });

  it('free as many as can be taken one after the other, and a copy takes none of them', () => {
    fc.assert(fc.property(steps, lane, (done, next) => {
      let last = make();
      run(done, (slots) => { last = slots; });
      const [told, copy] = [last.free(next), last.copy()];
      let taken = 0;
      for (; copy.free(next) > 0; taken++) copy.take(next);
      expect([taken, last.free(next)]).toEqual([told, told]);
    }));
  });

  it('are never all held by one key, nor all of a host', () => {
    const slots = make();
    for (let n = 0; n < 100; n++) for (const host of ['one', 'two', 'three', 'four', 'five']) if (slots.free({ keyId: 'a', host }) > 0) slots.take({ keyId: 'a', host });
    expect([slots.room, slots.free({ keyId: 'b', host: 'one' })]).toEqual([MOST / 2, 5]);
    const alone = make();
    while (alone.free({ keyId: 'a', host: 'one' }) > 0) alone.take({ keyId: 'a', host: 'one' });
    expect([MOST - alone.room, alone.free({ keyId: 'b', host: 'one' })]).toEqual([MOST_A_HOST / 2, MOST_A_HOST / 4]);
  });
});
