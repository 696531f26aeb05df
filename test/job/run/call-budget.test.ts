import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { CallBudget } from '../../../src/job/run/call-budget.ts';

type Action = 'send' | 'checkpoint' | 'durable' | 'kill';
const actions = fc.array(fc.constantFrom<Action>('send', 'send', 'send', 'send', 'checkpoint', 'durable', 'kill'), { maxLength: 400 });

it('a call budget permits no call beyond the limit or without a claim, and a kill at any moment costs at most one claim', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 500 }), actions, async (maxCalls, script) => {
      const step = Math.max(1, Math.ceil(maxCalls / 100));
      /** The state on disk: calls counted, and calls that may have been sent. */
      let disk = { counted: 0, atMost: 0 };
      let sentInAll = 0;
      let kills = 0;
      const start = () => {
        const counters = { allCalls: disk.counted };
        const pending: (() => void)[] = [];
        const write = (): void => {
          const record = { counted: counters.allCalls, atMost: budget.claim() };
          pending.push(() => {
            disk = record;
            budget.claimedUpTo(record.atMost);
          });
        };
        const budget: CallBudget = new CallBudget({
          maxCalls,
          counters,
          uncounted: disk.atMost - disk.counted,
          record: () =>
            new Promise((resolve) => {
              write();
              pending.push(resolve);
            }),
        });
        return { budget, counters, write, flush: () => pending.splice(0).forEach((act) => act()) };
      };
      let run = start();
      for (const action of script) {
        if (action === 'checkpoint') run.write();
        if (action === 'durable') run.flush();
        if (action === 'kill') {
          run = start();
          kills++;
        }
        if (action === 'send' && run.budget.ask() === true) {
          run.counters.allCalls++;
          sentInAll++;
          expect(disk.atMost).toBeGreaterThanOrEqual(sentInAll);
        }
      }
      expect(sentInAll).toBeLessThanOrEqual(maxCalls);
      // Without further kills, it spends the rest of the limit minus the claims lost by kills.
      for (let may = run.budget.ask(); may !== false; may = run.budget.ask()) {
        if (may === true) {
          run.counters.allCalls++;
          sentInAll++;
        } else {
          run.flush();
          await may;
        }
      }
      expect(sentInAll).toBeLessThanOrEqual(maxCalls);
      expect(sentInAll).toBeGreaterThanOrEqual(maxCalls - kills * step);
    }),
  );
});

it('a call budget without a limit claims nothing and never waits', () => {
  const budget = new CallBudget({
    maxCalls: null,
    counters: { allCalls: 7 },
    uncounted: 2,
    record: () => Promise.reject(new Error('not asked for')),
  });
  expect([budget.ask(), budget.claim(), budget.sent]).toEqual([true, 9, 9]);
});

it('the error of a used-up call budget names the calls sent and the calls lost by kills', () => {
  const reached = (uncounted: number): unknown =>
    new CallBudget({ maxCalls: 2_000, counters: { allCalls: 2_000 - uncounted }, uncounted, record: null }).reached();
  expect(reached(0)).toMatchObject({
    exitCode: 77,
    code: 'max_calls',
    message: 'limits.maxCalls is reached: 2,000 of 2,000 calls were sent',
  });
  expect(reached(20)).toMatchObject({
    message:
      'limits.maxCalls is reached: 2,000 of 2,000 calls were sent, 20 of them perhaps, by a run that was killed before it could count them',
  });
});
