import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LimiterOptions } from '../../src/limiter/limiter.ts';
import { Bucket } from '../limiter/services.ts';
import { makeLimiter, stopTime } from '../limiter/virtual.ts';
import { later, OK, pass, testBed, type Answer } from './scripted.ts';

const SECOND = 1_000;
const HELD_MS = 1_500;

beforeEach(() => stopTime());
afterEach(() => void vi.useRealTimers());

interface Service {
  readonly rpm: number;
  readonly stated?: Pick<LimiterOptions, 'windows'>;
  /** Whether it takes one more call, at so many milliseconds. */
  readonly take: (at: number) => boolean;
}

/** No more than so many calls within any second. */
function perSecond(limit: number): Service['take'] {
  const taken: number[] = [];
  return (at) => {
    while (taken[0] !== undefined && taken[0] <= at - SECOND) taken.shift();
    return taken.length < limit && taken.push(at) > 0;
  };
}

const SERVICES: Readonly<Record<string, () => Service>> = {
  'a service without headers, which lets ten calls follow each other closely': () => {
    const bucket = new Bucket(1_200, 10);
    return { rpm: 1_200, take: (at) => bucket.take(at) };
  },
  'a service with a stated window of 20 calls a second': () => ({ rpm: 6_000, stated: { windows: [{ limit: 20, periodMs: SECOND }] }, take: perSecond(20) }),
};

/** In the middle of a run nothing may leave for a while. @returns calls that were refused, and calls sent before, during and after */
async function runWithHold({ rpm, stated, take }: Service): Promise<{ refused: number; sent: readonly [number, number, number] }> {
  let hold: Promise<void> | null = null;
  let refused = 0;
  const answer = (at: number): Answer => {
    if (take(at)) return OK;
    refused++;
    return later(SECOND);
  };
  const limiter = makeLimiter(rpm, { ...stated, held: () => hold });
  const bed = testBed((_id, _attempt, at) => [answer(at), 40], { limiter, rpm, concurrency: 64, mayCall: () => hold ?? true });
  for (let id = 0; id < 1_000; id++) bed.submit(id);
  await pass(10 * SECOND);
  const before = bed.sent.length;
  hold = new Promise((resolve) => {
    setTimeout(() => {
      hold = null;
      resolve();
    }, HELD_MS);
  });
  await pass(HELD_MS - 1);
  const during = bed.sent.length - before;
  await pass(10 * SECOND);
  const after = bed.sent.length - before - during;
  const drained = bed.pool.drain();
  await pass(SECOND);
  await drained;
  return { refused, sent: [before, during, after] };
}

describe('calls that may not leave for a while, as while a key is read again', () => {
  it.each(Object.entries(SERVICES))('take no permits meanwhile, and so do not leave in a bunch afterwards: %s', async (_name, service) => {
    const { refused, sent: [before, during, after] } = await runWithHold(service());
    expect([refused, during]).toEqual([0, 0]);
    expect(after).toBeGreaterThan(0.95 * before);
  });
});
