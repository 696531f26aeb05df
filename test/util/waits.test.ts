import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { WAIT_REASONS, Waits, type Wait } from '../../src/util/waits.ts';

const wait = (reason: Wait['reason']): Wait => ({ reason, what: reason, untilMs: null });

describe('Waits', () => {
  it('names nothing while nothing waits, and a wait from its beginning to its end', () => {
    const waits = new Waits();
    expect(waits.current).toBeNull();
    const leave = waits.enter(wait('storage'));
    expect(waits.current).toEqual(wait('storage'));
    leave();
    leave();
    expect(waits.current).toBeNull();
  });

  it('names the most decisive of several waits, in whatever order they begin and end', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...WAIT_REASONS), fc.boolean())), (steps) => {
        const waits = new Waits();
        const open: { readonly reason: Wait['reason']; readonly leave: () => void }[] = [];
        for (const [reason, begins] of steps) {
          if (begins) open.push({ reason, leave: waits.enter(wait(reason)) });
          else open.shift()?.leave();
          const first = WAIT_REASONS.find((one) => open.some((other) => other.reason === one));
          expect(waits.current?.reason).toBe(first);
        }
      }),
    );
  });

  it('asks a watched source only when its state is read', () => {
    const waits = new Waits();
    let [asked, now] = [0, null as Wait | null];
    const leave = waits.watch(() => (asked++, now));
    expect(asked).toBe(0);
    expect(waits.current).toBeNull();
    now = wait('quota');
    expect(waits.current).toEqual(now);
    leave();
    expect(waits.current).toBeNull();
    expect(asked).toBe(2);
  });
});
