import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { retryAfterHeaderMs, LONGEST_MS, pauseMs, RETRY_AFTER_MS, retryAfterMs } from '../../../src/service/webhooks/retry-schedule.ts';
import { HOUR_MS } from './processes.ts';

it('a retry waits at most a tenth longer than the schedule', () => {
  for (const [n, afterMs] of RETRY_AFTER_MS.entries())
    expect([retryAfterMs(n + 1, 0, null), retryAfterMs(n + 1, 1, null)]).toEqual([afterMs, Math.round(afterMs * 1.1)]);
  expect(retryAfterMs(RETRY_AFTER_MS.length + 1, 0, null)).toBeNull();
});

it.each<[string | undefined, number | null]>([
  [undefined, null],
  ['0', 0],
  ['120', 120_000],
  ['9'.repeat(400), Infinity],
  ['Sun, 22 Nov 2026 13:00:00 GMT', HOUR_MS],
  ['Sun, 22 Nov 2026 11:00:00 GMT', 0],
  ['-1', null],
  ['1.5', null],
  ['soon', null],
  ['Sun, 99 Nov 2026 13:00:00 GMT', null],
  ['2026-11-22', null],
  ['', null],
])('a Retry-After of %j asks for %j milliseconds', (header, wanted) =>
  expect(retryAfterHeaderMs(header, Date.parse('2026-11-22T12:00:00Z'))).toBe(wanted),
);

it('a retry waits for Retry-After, never less than the schedule, and at most a day and a tenth', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: RETRY_AFTER_MS.length }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.oneof(fc.nat(48 * HOUR_MS), fc.constant(Infinity)),
      (attempts, random, requestedMs) => {
        const [usual, waitMs] = [retryAfterMs(attempts, random, null) as number, retryAfterMs(attempts, random, requestedMs) as number];
        expect(waitMs).toBeGreaterThanOrEqual(Math.max(usual, Math.min(requestedMs, 24 * HOUR_MS)));
        expect(waitMs).toBeLessThanOrEqual(Math.max(usual, Math.min(LONGEST_MS, requestedMs * 1.1) + 1));
      },
    ),
  );
});

it.each([
  [429, null, 5_000],
  [429, 0, 0],
  [429, 120_000, 120_000],
  [429, Infinity, HOUR_MS],
  [503, null, 0],
  [503, 120_000, 120_000],
  [500, 120_000, 0],
  [200, 120_000, 0],
  [null, null, 0],
])('a status of %j with a Retry-After of %j milliseconds pauses the host for %j milliseconds', (status, requestedMs, wanted) =>
  expect(pauseMs(status, requestedMs)).toBe(wanted),
);
