import { expect, it } from 'vitest';
import { atOnce, mapped, type Steps } from '../../src/util/steps.ts';
import { toEnd } from '../support/steps.ts';

it('mapped work pauses after each item, and has a result for each', () => {
  const done: number[] = [];
  const pauses: number[] = [];
  const steps = mapped([1, 2, 3], 10, (item) => {
    done.push(item);
    return item * item;
  });
  expect(toEnd(steps, () => pauses.push(done.length))).toEqual([1, 4, 9]);
  expect(pauses).toEqual([1, 2, 3]);
});

it('steps without a pause have their result at once, and after a promise when it resolves', async () => {
  expect(atOnce(mapped([1, 2], 1, (item) => item + 1))).toEqual([2, 3]);
  function* waiting(): Steps<string> {
    yield 1;
    yield Promise.resolve();
    return 'done';
  }
  const found = atOnce(waiting());
  expect(found).toBeInstanceOf(Promise);
  expect(await found).toBe('done');
});
