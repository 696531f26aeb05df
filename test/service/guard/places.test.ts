import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Places } from '../../../src/service/guard/places.ts';

it('whoever comes and goes, and gives back twice, so many have a place and no more, of all and of a key', () => {
  const step = fc.oneof(fc.record({ comes: fc.constantFrom('a', 'b', 'c') }), fc.record({ goes: fc.nat(20) }));
  fc.assert(fc.property(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 3 }), fc.array(step, { maxLength: 60 }), (most, mostOfKey, steps) => {
    const places = new Places(most, mostOfKey);
    const there: string[] = [];
    const had: { readonly key: string; readonly leave: () => void; isThere: boolean }[] = [];
    for (const now of steps) {
      if ('comes' in now) {
        const key = now.comes;
        const leave = places.take(key);
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
      expect(places.taken).toBe(there.length);
    }
  }));
});
