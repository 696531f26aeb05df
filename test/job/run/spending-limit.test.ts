import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { SpendingLimit } from '../../../src/job/run/spending-limit.ts';

type Action = { readonly spend: number } | (typeof EVENTS)[number];
/** Calls in flight end, a checkpoint is written or becomes durable, the process is killed. */
const EVENTS = ['charged', 'free', 'checkpoint', 'durable', 'kill'] as const;
const spend = fc.record({ spend: fc.integer({ min: 1, max: 30 }) });
const actions = fc.array(fc.oneof<fc.MaybeWeightedArbitrary<Action>[]>({ weight: 4, arbitrary: spend }, fc.constantFrom(...EVENTS)), {
  maxLength: 400,
  size: 'max',
});

it('a spending limit permits nothing beyond itself or without a claim, and a kill at any moment costs at most one claim', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 500 }), actions, async (most, script) => {
      /** The state on disk: what is counted, and what may have been spent. */
      let disk = { counted: 0, atMost: 0 };
      let spentInAll = 0;
      let lost = 0;
      const start = () => {
        const uncounted = disk.atMost - disk.counted;
        const state = { counted: disk.counted, inFlight: 0 };
        const pending: (() => void)[] = [];
        const write = (): void => {
          const record = { counted: state.counted, atMost: limit.claim() };
          pending.push(() => {
            disk = record;
            limit.claimedUpTo(record.atMost);
          });
        };
        const limit: SpendingLimit = new SpendingLimit({
          most,
          spent: () => state.counted + state.inFlight + uncounted,
          record: () =>
            new Promise((resolve) => {
              write();
              pending.push(resolve);
            }),
        });
        return { limit, state, write, flush: () => pending.splice(0).forEach((act) => act()) };
      };
      let run = start();
      for (const action of script) {
        if (action === 'checkpoint') run.write();
        else if (action === 'durable') run.flush();
        else if (action === 'kill') {
          lost += disk.atMost - disk.counted;
          run = start();
        } else if (action === 'charged' || action === 'free') {
          if (action === 'charged') run.state.counted += run.state.inFlight;
          else spentInAll -= run.state.inFlight;
          run.state.inFlight = 0;
        } else if (run.limit.ask(action.spend) === true) {
          run.state.inFlight += action.spend;
          spentInAll += action.spend;
          expect(disk.atMost).toBeGreaterThanOrEqual(spentInAll);
        }
      }
      expect(spentInAll).toBeLessThanOrEqual(most);
      // Without further kills, it spends the rest of the limit minus the claims lost by kills.
      for (let may = run.limit.ask(1); may !== false; may = run.limit.ask(1)) {
        if (may === true) {
          run.state.counted++;
          spentInAll++;
        } else {
          run.flush();
          await may;
        }
      }
      expect(spentInAll).toBeLessThanOrEqual(most);
      expect(spentInAll).toBeGreaterThanOrEqual(most - lost);
    }),
  );
});

it('a checkpoint that is written after free calls still claims what calls may spend without another one', async () => {
  let spent = 0;
  let disk = 0;
  const write = (): void => {
    disk = limit.claim();
    limit.claimedUpTo(disk);
  };
  const limit: SpendingLimit = new SpendingLimit({ most: 100, spent: () => spent, record: async () => write() });
  for (; spent < 20; spent++) if (limit.ask(1) !== true) await limit.ask(1);
  spent = 0;
  write();
  for (; spent < 20; spent++) {
    if (limit.ask(1) !== true) await limit.ask(1);
    expect(disk).toBeGreaterThan(spent);
  }
});

it('no limit claims nothing and never waits', () => {
  const limit = new SpendingLimit({ most: null, spent: () => 9, record: () => Promise.reject(new Error('not asked for')) });
  expect([limit.ask(1_000), limit.claim(), limit.left]).toEqual([true, 9, Infinity]);
});

it('a claim holds a request that costs more than a hundredth of the limit', async () => {
  let written = 0;
  const limit: SpendingLimit = new SpendingLimit({
    most: 2_000,
    spent: () => 0,
    record: async () => {
      written = limit.claim();
      limit.claimedUpTo(written);
    },
  });
  await limit.ask(1_000);
  expect(written).toBe(1_000);
  expect(limit.ask(1_000)).toBe(true);
  expect(limit.ask(2_001)).toBe(false);
});
