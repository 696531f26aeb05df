import { array, assert, asyncProperty, boolean, integer, scheduler as schedulers } from '../support/fast-check.ts';
import { expect, test } from 'vitest';
import { mapConcurrently } from '../../src/util/map-concurrently.ts';

test('results come in order, `atOnce` items run at a time, and the first failure in order is thrown', async () => {
  await assert(
    asyncProperty(schedulers(), array(boolean(), { maxLength: 12 }), integer({ min: 1, max: 5 }), async (scheduler, fails, atOnce) => {
      let running = 0;
      let most = 0;
      const begun: number[] = [];
      const work = mapConcurrently(fails, atOnce, async (failing, index) => {
        begun.push(index);
        most = Math.max(most, ++running);
        await scheduler.schedule(Promise.resolve());
        running--;
        if (failing) throw new Error(String(index));
        return index;
      });
      const outcome = work.then(
        (results) => ({ results }),
        (error: Error) => ({ failed: Number(error.message) }),
      );
      await scheduler.waitFor(outcome);
      const first = fails.indexOf(true);
      expect(await outcome).toEqual(first === -1 ? { results: fails.map((_, index) => index) } : { failed: first });
      expect(most).toBeLessThanOrEqual(atOnce);
      expect(begun).toEqual(begun.map((_, index) => index));
    }),
  );
});
