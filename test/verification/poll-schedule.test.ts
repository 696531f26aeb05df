import { expect, it } from 'vitest';
import { verifyAndPoll } from '../../src/verification/poll-schedule.ts';
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

/** Verifies and polls, while each sleep moves the clock of the verifier and the world. */
async function poll(pollForMs: number): Promise<{ reasons: string[]; waits: [number, number][]; connections: number }> {
  const { verifier, time, world } = await inWorld({}, {}, WORLD);
  const waits: [number, number][] = [];
  const sleep = async (ms: number): Promise<void> => void (time.nowMs += ms);
  const found = await verifyAndPoll(verifier, EMAILS, REQUEST, {
    pollForMs,
    now: () => time.nowMs,
    sleep,
    onWait: (addresses, ms) => void waits.push([addresses, Math.round(ms / 60_000)]),
  });
  expect(found.map(({ email }) => email)).toEqual(EMAILS);
  return { reasons: found.map(({ reason }) => reason), waits, connections: world.countsOf('mx.plain.test').connections };
}

it('polling asks only greylisted addresses again, and no sooner than their retry_at', async () => {
  expect(await poll(7 * 60_000)).toEqual({
    reasons: ['accepted', 'accepted', 'greylisted', 'accepted', 'accepted'],
    waits: [[3, 6]],
    connections: 1,
  });
});

it('polling gives up on a server that always says later, and does not start a wait beyond its limit', async () => {
  expect((await poll(3 * HOUR_MS)).waits).toEqual([
    [3, 6],
    [1, 15],
    [1, 60],
  ]);
  expect(await poll(5 * 60_000)).toMatchObject({
    reasons: ['greylisted', 'accepted', 'greylisted', 'greylisted', 'greylisted'],
    waits: [],
  });
  expect((await poll(0)).waits).toEqual([]);
});

it('polling with a clock that stands still waits at least a second each time, and ends', async () => {
  const { verifier, time } = await inWorld({}, {}, WORLD);
  let slept = 0;
  let asked = 0;
  const counted = { verify: (...given: Parameters<typeof verifier.verify>) => (asked++, verifier.verify(...given)) };
  await verifyAndPoll(counted, ['jane@grey.test'], REQUEST, {
    pollForMs: HOUR_MS,
    now: () => time.nowMs,
    sleep: async (ms) => void (slept += ms),
    onWait: () => undefined,
  });
  expect(slept).toBeLessThanOrEqual(HOUR_MS);
  expect(asked).toBe(11);
});
