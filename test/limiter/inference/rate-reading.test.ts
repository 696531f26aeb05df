import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { ResponseHeaders } from '../../../src/client/types.ts';
import { readQuotaHeaders } from '../../../src/client/quota/quota-headers.ts';
import { toRateReading, type RateReading } from '../../../src/limiter/inference/rate-reading.ts';

const DATE = 'Tue, 15 Jul 2036 12:00:00 GMT';
const NOW = Date.UTC(2036, 6, 15, 12);
/** A local clock that is hours off, to show that it does not matter where the service tells the time. */
const WRONG = NOW - 5 * 3_600_000;
const DAY = 86_400_000;

const NOTHING = { limit: null, remaining: null, reset: null };
function readRateHeaders(headers: ResponseHeaders, localMs: number): RateReading {
  return toRateReading(readQuotaHeaders(headers, localMs)?.plan ?? NOTHING, null);
}

function resetOf(value: string | string[], options: { date?: string; local?: number } = {}): number | null {
  const { date = DATE, local = WRONG } = options;
  return readRateHeaders({ 'x-ratelimit-reset': value, ...(date === '' ? {} : { date }) }, local).resetMs;
}

describe('X-RateLimit-Reset', () => {
  it.each([
    ['delta seconds', '30', 30_000],
    ['a fraction of a second', '0.25', 250],
    ['now', '0', 0],
    ['two windows, still seconds', '120', 120_000],
    ['beyond two windows and unsettled: milliseconds, for long enough to be settled', '121', 3_000],
    ['delta milliseconds', '45000', 45_000],
    ['epoch seconds', String(NOW / 1_000 + 42), 42_000],
    ['epoch milliseconds', String(NOW + 42_500), 42_500],
    ['an HTTP date', 'Tue, 15 Jul 2036 12:01:30 GMT', 90_000],
    ['RFC 3339', '2036-07-15T12:00:10Z', 10_000],
    ['RFC 3339 with an offset', '2036-07-15T14:00:10.500+02:00', 10_500],
    ['a time that is past', '2036-07-15T11:59:00Z', 0],
    ['an epoch that is past', String(NOW / 1_000 - 5), 0],
    ['spaces around it', '  7 ', 7_000],
    ['a Go duration', '0m13.400s', 13_400],
    ['a Go duration of whole minutes', '6m0s', 360_000],
  ])('%s', (_, value, expected) => {
    expect(resetOf(value)).toBe(expected);
  });

  it.each([
    '',
    ' ',
    'soon',
    '-5',
    '60 s',
    '1m 0s',
    '800h',
    'in 12 days',
    '0x10',
    '1e3',
    'Infinity',
    'NaN',
    '5;w=60',
    '12:00',
    '9'.repeat(400),
    '2036-02-30',
    String(NOW + 33 * DAY),
    String(NOW / 1_000 + 33 * 86_400),
    '2036-08-18T12:00:00Z',
  ])('does not believe %j', (value) => {
    expect(resetOf(value)).toBeNull();
  });

  it('goes by the local clock where the service sends no Date, or one that says nothing', () => {
    for (const date of ['', 'yesterday']) expect(resetOf(String(NOW / 1_000 + 42), { date, local: NOW })).toBe(42_000);
  });

  it('takes the first of several', () => {
    expect(resetOf(['3', '9'])).toBe(3_000);
    expect(readRateHeaders({}, NOW)).toEqual({
      remaining: null,
      resetMs: null,
      resetSlackMs: 1_000,
      resetIsSure: true,
      limit: null,
      unlimited: false,
    });
  });

  it('says the same of one moment in every form that can carry it, with any local clock', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 120 }), fc.integer({ min: 0, max: 3_000_000_000_000 }), (seconds, local) => {
        const at = NOW + seconds * 1_000;
        for (const form of [String(seconds), String(at), String(at / 1_000), new Date(at).toUTCString(), new Date(at).toISOString()]) {
          expect(resetOf(form, { local })).toBe(seconds * 1_000);
        }
      }),
    );
  });

  it('never throws, and never asks for a wait that is negative, endless or longer than a month', () => {
    const header = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.double().map(String),
      fc.bigInt().map(String),
      fc.date({ noInvalidDate: false }).map(String),
      fc.array(fc.string()),
    );
    fc.assert(
      fc.property(header, header, header, (reset, remaining, date) => {
        const reading = readRateHeaders(
          { 'x-ratelimit-reset': reset, 'x-ratelimit-remaining': remaining, 'x-ratelimit-limit': remaining, date },
          NOW,
        );
        if (reading.resetMs !== null) {
          expect(reading.resetMs).toBeGreaterThanOrEqual(0);
          expect(reading.resetMs).toBeLessThanOrEqual(32 * DAY);
        }
        if (reading.remaining !== null) {
          expect(reading.remaining).toBeGreaterThanOrEqual(0);
          expect(Number.isSafeInteger(reading.remaining)).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('X-RateLimit-Remaining and -Limit', () => {
  it.each([
    ['7', 7],
    ['0', 0],
    ['-3', null],
    ['7.9', 7],
    ['many', null],
    ['', null],
    ['1e9', null],
    ['10, 10;w=60', null],
  ])('remaining %j is %j', (value, expected) => {
    expect(readRateHeaders({ 'x-ratelimit-remaining': value }, NOW).remaining).toBe(expected);
  });

  it.each([
    ['0', true],
    ['1000', false],
    ['', false],
    ['unlimited', false],
  ])('a limit of %j: unlimited is %j', (value, expected) => {
    expect(readRateHeaders({ 'x-ratelimit-limit': value, 'x-ratelimit-remaining': '' }, NOW).unlimited).toBe(expected);
  });
});
