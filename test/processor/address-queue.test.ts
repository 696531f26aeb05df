import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { AddressQueue, type Group } from '../../src/processor/address-queue.ts';

it('gives each address once, in the order in which they came, whatever is put back; and no request crosses a group', () => {
  const words = fc.constantFrom('add', 'add', 'close', 'put back');
  const steps = fc.array(fc.oneof(words, fc.integer({ min: 1, max: 9 })), { maxLength: 200 });
  fc.assert(fc.property(steps, (some) => {
    const queue = new AddressQueue();
    const closes: number[] = [];
    const out: Group[] = [];
    let came = 0;
    const take = (most: number): void => {
      const { next } = queue;
      if (next === null) return;
      const group = queue.take(Math.min(most, next.waiting));
      // The first that waits goes first.
      for (const other of out) expect(other.from < group.from || other.from >= group.from + group.emails.length).toBe(true);
      for (const end of closes) expect(group.from < end && group.from + group.emails.length > end).toBe(false);
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
      expect(queue.size).toBe(came - out.reduce((sum, { emails }) => sum + emails.length, 0));
    }
    while (queue.next !== null) take(4);
    out.sort((one, other) => one.from - other.from);
    expect(out.flatMap(({ emails }) => emails)).toEqual(Array.from({ length: came }, (_, i) => `p${i}`));
    for (const { from, emails } of out) expect(emails[0]).toBe(`p${from}`);
  }));
});

it('what was taken and put back goes before what came later', () => {
  const queue = new AddressQueue();
  for (const email of ['a', 'b', 'c', 'd', 'e']) queue.add(email);
  const [first, second] = [queue.take(2), queue.take(2)];
  queue.putBack(second);
  queue.putBack(first);
  expect([queue.take(1), queue.take(1), queue.take(2)].map(({ emails }) => emails)).toEqual([['a'], ['b'], ['c', 'd']]);
  expect(queue.next).toEqual({ waiting: 1, isClosed: false });
});
