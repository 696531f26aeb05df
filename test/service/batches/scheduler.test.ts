import { expect, it } from 'vitest';
import { Scheduler } from '../../../src/service/batches/scheduler.ts';
import type { Steps } from '../../../src/util/steps.ts';

it('steps are taken in slices: eight milliseconds while no requests arrive, and one while they do', async () => {
  let [nowMs, arrived] = [0, 0];
  const slices: number[] = [];
  const scheduler = new Scheduler(
    () => {
      slices.push(0);
      return arrived;
    },
    () => nowMs,
  );
  function* work(): Steps<string> {
    for (let step = 0; step < 20; step++) {
      nowMs++;
      slices[slices.length - 1] = (slices.at(-1) ?? 0) + 1;
      if (step === 9) arrived++;
      yield 1;
    }
    return 'done';
  }
  expect(await scheduler.take(work())).toBe('done');
  // A request arrives in the second slice, so the third is short.
  expect(slices).toEqual([8, 8, 1, 3]);
});

it('steps wait for a promise between two slices, and their error reaches the caller', async () => {
  const scheduler = new Scheduler(
    () => 0,
    () => 0,
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  const log: string[] = [];
  function* work(): Steps<never> {
    yield 1;
    log.push('waits');
    yield promise;
    log.push('goes on');
    throw new Error('broken');
  }
  const taken = scheduler.take(work());
  // Other work of the scheduler goes on meanwhile.
  await scheduler.run(() => true);
  await expect.poll(() => log).toEqual(['waits']);
  resolve();
  await expect(taken).rejects.toThrow('broken');
  expect(log).toEqual(['waits', 'goes on']);
});
