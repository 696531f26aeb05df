import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { KeyedSemaphore } from '../../../src/service/guards/semaphore.ts';

it('the semaphore holds at most its number of permits, in total and per key, even when a permit is returned twice', () => {
  const step = fc.oneof(fc.record({ comes: fc.constantFrom('a', 'b', 'c') }), fc.record({ goes: fc.nat(20) }));
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 5 }),
      fc.integer({ min: 0, max: 3 }),
      fc.array(step, { maxLength: 60 }),
      (most, mostOfKey, steps) => {
        const permits = new KeyedSemaphore(most, mostOfKey);
        const there: string[] = [];
        const had: { readonly key: string; readonly leave: () => void; isThere: boolean }[] = [];
        for (const now of steps) {
          if ('comes' in now) {
            const key = now.comes;
            const leave = permits.take(key);
            const isRoom = there.length < most && there.filter((one) => one === key).length < mostOfKey;
            expect(leave !== null).toBe(isRoom);
            if (leave === null) continue;
            there.push(key);
            had.push({ key, leave, isThere: true });
          } else {
            const one = had[now.goes];
            one?.leave();
            if (one?.isThere === true) there.splice(there.indexOf(one.key), 1);
            if (one !== undefined) one.isThere = false;
          }
          expect(permits.taken).toBe(there.length);
        }
      },
    ),
  );
});
