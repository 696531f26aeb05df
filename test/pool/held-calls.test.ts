import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LimiterOptions } from '../../src/limiter/limiter.ts';
import { Bucket } from '../limiter/services.ts';
import { makeLimiter, stopTime } from '../limiter/virtual.ts';
import { throttledFor, OK, advance, testBed, type Answer } from './scripted.ts';

const SECOND = 1_000;
const BLOCKED_MS = 1_500;

beforeEach(() => stopTime());
afterEach(() => void vi.useRealTimers());

interface Service {
  readonly rpm: number;
  readonly stated?: Pick<LimiterOptions, 'windows'>;
  /** Accepts or refuses a call at `at` milliseconds. */
  readonly take: (at: number) => boolean;
}

/** Accepts at most `limit` calls within any second. */
function perSecond(limit: number): Service['take'] {
  const taken: number[] = [];
  return (at) => {
    while (taken[0] !== undefined && taken[0] <= at - SECOND) taken.shift();
    return taken.length < limit && taken.push(at) > 0;
  };
}

const SERVICES: Readonly<Record<string, () => Service>> = {
  'a service without headers that allows bursts of ten calls': () => {
    const bucket = new Bucket(1_200, 10);
    return { rpm: 1_200, take: (at) => bucket.take(at) };
  },
  'a service with a stated window of 20 calls a second': () => ({
    rpm: 6_000,
    stated: { windows: [{ limit: 20, periodMs: SECOND }] },
    take: perSecond(20),
  }),
};

/** Blocks all calls in the middle of a run. Returns the refused calls, and the calls sent before, during and after the block. */
async function runWithBlock({ rpm, stated, take }: Service): Promise<{ refused: number; sent: readonly [number, number, number] }> {
  let block: Promise<void> | null = null;
  let refused = 0;
  const answer = (at: number): Answer => {
    if (take(at)) return OK;
    refused++;
    return throttledFor(SECOND);
  };
  const limiter = makeLimiter(rpm, { ...stated, blockedBy: () => block });
  const bed = testBed((_id, _attempt, at) => [answer(at), 40], { limiter, rpm, concurrency: 64, mayCall: () => block ?? true });
  for (let id = 0; id < 1_000; id++) bed.submit(id);
  await advance(10 * SECOND);
  const before = bed.sent.length;
  block = new Promise((resolve) => {
    setTimeout(() => {
      block = null;
      resolve();
    }, BLOCKED_MS);
  });
  await advance(BLOCKED_MS - 1);
  const during = bed.sent.length - before;
  await advance(10 * SECOND);
  const after = bed.sent.length - before - during;
  const drained = bed.pool.drain();
  await advance(SECOND);
  await drained;
  return { refused, sent: [before, during, after] };
}

describe('calls that are blocked while the API key is read again', () => {
  it.each(Object.entries(SERVICES))('take no permits and do not leave in a burst afterwards (%s)', async (_name, service) => {
    const {
      refused,
      sent: [before, during, after],
    } = await runWithBlock(service());
    expect([refused, during]).toEqual([0, 0]);
    expect(after).toBeGreaterThan(0.95 * before);
  });
});
