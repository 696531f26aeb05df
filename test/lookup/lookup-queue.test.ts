import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { LookupQueue, type LookupGroup } from '../../src/lookup/lookup-queue.ts';

it('the queue gives each lookup once in the order of arrival, whatever is put back, and no request crosses a group', () => {
  const words = fc.constantFrom('add', 'add', 'close', 'put back');
  const steps = fc.array(fc.oneof(words, fc.integer({ min: 1, max: 9 })), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (some) => {
      const queue = new LookupQueue();
      const closes: number[] = [];
      const out: LookupGroup[] = [];
      let came = 0;
      const take = (most: number): void => {
        const { next } = queue;
        if (next === null) return;
        const group = queue.take(Math.min(most, next.waiting));
        // The first that waits goes first.
        const [first, last] = [group.places[0] as number, group.places.at(-1) as number];
        const others = new Set(out.flatMap(({ places }) => places));
        for (let place = 0; place < last; place++) expect(others.has(place) || group.places.includes(place)).toBe(true);
        for (const end of closes) expect(first < end && last >= end).toBe(false);
        out.push(group);
      };
      for (const step of some) {
        if (step === 'add') queue.add(`p${came++}`);
        else if (step === 'put back') {
          const group = out.splice(Math.floor(out.length / 2), 1)[0];
          if (group !== undefined) queue.putBack(group);
        } else if (step === 'close') {
          queue.close();
          closes.push(came);
        } else if (typeof step === 'number') take(step);
        expect(queue.size).toBe(came - out.reduce((sum, { keys }) => sum + keys.length, 0));
      }
      while (queue.next !== null) take(4);
      const all = out
        .flatMap(({ keys, places }) => places.map((place, at) => [place, keys[at]] as const))
        .toSorted(([one], [other]) => one - other);
      expect(all).toEqual(Array.from({ length: came }, (_, i) => [i, `p${i}`]));
    }),
  );
});

it('addresses that are put back go before later ones, and a request takes them together with their neighbours', () => {
  const queue = new LookupQueue();
  for (const email of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) queue.add(email);
  const [first, , third] = [queue.take(2), queue.take(2), queue.take(2)];
  queue.putBack(third);
  queue.putBack(first);
  expect(queue.next).toEqual({ waiting: 5, isClosed: false });
  expect([queue.take(1), queue.take(3)].map(({ keys }) => keys)).toEqual([['a'], ['b', 'e', 'f']]);
  expect(queue.next).toEqual({ waiting: 1, isClosed: false });
});
