import { expect, it } from 'vitest';
import { inRunScope, runScope } from '../../src/util/run-scope.ts';
import { Waits } from '../../src/util/waits.ts';

const nothing = new AbortController().signal;

it('two runs at once have their own waits, whatever they start', async () => {
  const all = [new Waits(), new Waits()];
  const gate = Promise.withResolvers<void>();
  const runs = all.map((waits, at) =>
    inRunScope({ waits, lastWords: nothing }, async () => {
      await gate.promise;
      const leave = runScope().waits.enter({ reason: 'storage', what: `run ${at}`, untilMs: null });
      const seenLater = await new Promise<Waits>((resolve) => setImmediate(() => resolve(runScope().waits)));
      expect(seenLater).toBe(waits);
      expect(all.map(({ current }) => current?.what)).toEqual(['run 0', 'run 1']);
      await new Promise<void>((resolve) => setImmediate(resolve));
      leave();
    }),
  );
  gate.resolve();
  await Promise.all(runs);
  expect(all.map(({ current }) => current)).toEqual([null, null]);
});

it("work outside of a run is never aborted, and its waits are nobody's", () => {
  const leave = runScope().waits.enter({ reason: 'redis', what: 'a command without a run', untilMs: null });
  expect(runScope().waits.current).toBeNull();
  expect(runScope().lastWords.aborted).toBe(false);
  leave();
});
