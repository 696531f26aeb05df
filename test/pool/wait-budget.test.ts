import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stopTime } from '../limiter/virtual.ts';
import { HTTP_500, HTTP_503, throttledFor, meta, OK, advance, testBed } from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const MINUTE = 60_000;

describe('a failing answer with Retry-After', () => {
  it('delays the retry by at least that time', async () => {
    const bed = testBed((_, attempt) => (attempt === 1 ? { ...HTTP_500, retryAfterMs: 9_000 } : OK));
    bed.submit(0);
    await advance(9_009);
    expect(bed.sent).toHaveLength(1);
    await advance(1);
    expect(bed.sent).toHaveLength(2);
  });

  it.each([408, 409, 425, 500, 502, 504])('ends the run with 69 when it exceeds limits.maxWaitMs (status %d)', async (status) => {
    const bed = testBed(() => ({ kind: 'retryable', code: `http_${status}`, detail: '', retryAfterMs: 7_200_000, meta: meta(status) }));
    bed.submit(0);
    await advance(100);
    expect(bed.fatal).toEqual([
      expect.objectContaining({
        exitCode: 69,
        code: 'wait_too_long',
        message: 'the service asks to wait 7200 s, longer than limits.maxWaitMs',
      }),
    ]);
    expect(bed.settled.size).toBe(0);
  });

  it('delays the retry for longer than setTimeout can when limits.maxWaitMs allows it', async () => {
    const retryAfterMs = 2_592_000_000;
    const bed = testBed((_, attempt) => (attempt === 1 ? { ...HTTP_500, retryAfterMs } : OK), { maxWaitMs: 2 * retryAfterMs });
    bed.submit(0);
    await advance(retryAfterMs + 9);
    expect(bed.sent).toHaveLength(1);
    await advance(1);
    expect(bed.sent).toHaveLength(2);
    await advance(10);
    expect(bed.settled.get(0)).toMatchObject({ kind: 'ok', attempts: 2 });
  });

  it('delays each lookup by the whole time also during an outage', async () => {
    const bed = testBed((_, __, at) => (at < 5 * MINUTE ? { ...HTTP_503, code: 'http_502', retryAfterMs: 90_000, meta: meta(502) } : OK));
    for (let id = 0; id < 14; id++) bed.submit(id);
    await advance(20 * MINUTE);
    expect(bed.settled.size).toBe(14);
    const lastSentAt = new Map<number, number>();
    for (const { id, at } of bed.sent) {
      expect(at - (lastSentAt.get(id) ?? -Infinity)).toBeGreaterThanOrEqual(90_010);
      lastSentAt.set(id, at);
    }
  });
});

describe('a service that throttles', () => {
  it('ends the run with 69 when its Retry-After exceeds limits.maxWaitMs', async () => {
    const bed = testBed(() => throttledFor(900_001));
    for (let id = 0; id < 20; id++) bed.submit(id);
    await advance(100);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'wait_too_long' })]);
    expect(bed.settled.size).toBe(0);
  });

  it('gets no call for as long as it asks, up to limits.maxWaitMs', async () => {
    const bed = testBed((_, attempt) => (attempt === 1 ? throttledFor(900_000) : OK));
    for (let id = 0; id < 4; id++) bed.submit(id);
    await advance(900_000);
    expect(bed.fatal).toEqual([]);
    expect(bed.sent).toHaveLength(4);
    await advance(100);
    expect(bed.settled.size).toBe(4);
  });

  it('ends the run with 69 when its waits without an answer between them add up to limits.maxWaitMs', async () => {
    const bed = testBed(() => throttledFor(60_000));
    bed.submit(0);
    await advance(14 * MINUTE);
    expect(bed.fatal).toEqual([]);
    await advance(2 * MINUTE);
    expect(bed.fatal).toEqual([
      expect.objectContaining({
        exitCode: 69,
        code: 'wait_too_long',
        message: 'the service has said nothing but "later" for 841 s and asks to wait another 60 s, together longer than limits.maxWaitMs',
      }),
    ]);
  });

  it.each([
    [429, 60_000],
    [503, 2_000],
  ])('fails a single lookup that is throttled for limits.maxWaitMs, while others are answered (status %d)', async (status, waitMs) => {
    const bed = testBed((id) => (id === 5 ? { kind: 'throttled', retryAfterMs: waitMs, meta: meta(status) } : OK));
    for (let id = 0; id < 2_000; id++) bed.submit(id);
    await advance(13 * MINUTE);
    expect(bed.settled.has(5)).toBe(false);
    await advance(3 * MINUTE);
    expect(bed.settled.get(5)).toMatchObject({ kind: 'failed', rejected: false, status, code: `http_${status}`, requestId: `r-${status}` });
    await advance(MINUTE);
    expect(bed.fatal).toEqual([]);
    expect([...bed.settled.values()].filter((settled) => settled.kind === 'ok')).toHaveLength(1_999);
  });

  it('starts a new wait budget with each answer', async () => {
    const bed = testBed((_, attempt) => (attempt <= 10 ? throttledFor(60_000) : OK), { concurrency: 1 });
    for (let id = 0; id < 4; id++) bed.submit(id);
    await advance(45 * MINUTE);
    expect(bed.fatal).toEqual([]);
    expect(bed.settled.size).toBe(4);
  });

  it.each([1, 4])(
    'ends the run with 69 when the quota headers of a good answer ask for too long a wait (%d at once)',
    async (concurrency) => {
      const usedUp = { ...OK, meta: meta(200, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '7200000' }) };
      const bed = testBed(() => usedUp, { concurrency });
      for (let id = 0; id < 20; id++) bed.submit(id);
      await advance(100);
      expect(bed.settled.size).toBe(concurrency);
      expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'wait_too_long' })]);
    },
  );

  it('ends the run with 69 also when those headers arrive while calls wait for a permit', async () => {
    const usedUp = (resetMs: number): typeof OK => ({
      ...OK,
      meta: meta(200, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(resetMs) }),
    });
    const bed = testBed((id) => (id === 0 ? [usedUp(7_200_000), 1_000] : usedUp(10_000)), { concurrency: 2 });
    for (let id = 0; id < 3; id++) bed.submit(id);
    await advance(999);
    expect(bed.fatal).toEqual([]);
    expect(bed.sent).toHaveLength(2);
    await advance(1);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode: 69, code: 'wait_too_long' })]);
  });

  it('does not fail a run that needs no more calls of its used-up quota', async () => {
    const usedUp = { ...OK, meta: meta(200, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '7200000' }) };
    const bed = testBed(() => usedUp);
    bed.submit(0);
    await advance(100);
    expect(bed.settled.size).toBe(1);
    expect(bed.fatal).toEqual([]);
  });
});
