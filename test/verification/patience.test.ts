import { expect, it } from 'vitest';
import { verifyPatiently } from '../../src/verification/patience.ts';
import { inWorld, REQUEST } from './in-world.ts';

const HOUR_MS = 3_600_000;
const WORLD = {
  hosts: { 'mx.grey.test': {}, 'mx.plain.test': {} },
  domains: {
    'grey.test': { mx: [[10, 'mx.grey.test']], mailboxes: ['jane', 'joe'], greylistMs: 300_000 },
    'never.test': { mx: [[10, 'mx.grey.test']], mailboxes: ['jane'], greylistMs: 100 * HOUR_MS },
    'plain.test': { mx: [[10, 'mx.plain.test']], mailboxes: ['jane'] },
  },
} as const;
const EMAILS = ['jane@grey.test', 'jane@plain.test', 'jane@never.test', 'joe@grey.test', 'jane@grey.test'];

/** Verifies with patience while the clock of the verifier and the world moves by what is slept. */
async function patiently(patienceMs: number): Promise<{ reasons: string[]; waits: [number, number][]; connections: number }> {
  const { verifier, time, world } = await inWorld({}, {}, WORLD);
  const waits: [number, number][] = [];
  const sleep = async (ms: number): Promise<void> => void (time.nowMs += ms);
  const found = await verifyPatiently(verifier, EMAILS, REQUEST, { patienceMs, now: () => time.nowMs, sleep, onWait: (addresses, ms) => void waits.push([addresses, Math.round(ms / 60_000)]) });
  expect(found.map(({ email }) => email)).toEqual(EMAILS);
  return { reasons: found.map(({ reason }) => reason), waits, connections: world.countsOf('mx.plain.test').connections };
}

it('whoever says later is asked again when they may be, and nobody else', async () => {
  expect(await patiently(7 * 60_000)).toEqual({ reasons: ['accepted', 'accepted', 'greylisted', 'accepted', 'accepted'], waits: [[3, 6]], connections: 1 });
});

it('a server that always says later is left alone in the end, and patience that would not last is not begun', async () => {
  expect((await patiently(3 * HOUR_MS)).waits).toEqual([[3, 6], [1, 15], [1, 60]]);
  expect(await patiently(5 * 60_000)).toMatchObject({ reasons: ['greylisted', 'accepted', 'greylisted', 'greylisted', 'greylisted'], waits: [] });
  expect((await patiently(0)).waits).toEqual([]);
});

it('a clock that stands still is not asked by all the time, and not for ever', async () => {
  const { verifier, time } = await inWorld({}, {}, WORLD);
  let slept = 0;
  let asked = 0;
  const counted = { verify: (...given: Parameters<typeof verifier.verify>) => (asked++, verifier.verify(...given)) };
  await verifyPatiently(counted, ['jane@grey.test'], REQUEST, { patienceMs: HOUR_MS, now: () => time.nowMs, sleep: async (ms) => void (slept += ms), onWait: () => undefined });
  expect(slept).toBeLessThanOrEqual(HOUR_MS);
  expect(asked).toBe(11);
});
