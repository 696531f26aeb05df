import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { readQuotaHeaders } from '../../../src/client/quota/quota-headers.ts';
import type { PlanWindow } from '../../../src/client/quota/quota-reading.ts';
import type { StatedReset } from '../../../src/client/quota/stated-reset.ts';
import { PERIODS_MS } from '../../../src/util/periods.ts';

const DATE = 'Tue, 15 Jul 2036 12:00:00 GMT';
const NOW = Date.UTC(2036, 6, 15, 12);
const { second, minute, hour, day, month } = PERIODS_MS;
/** The local clock is hours off, which must not matter when the service sends a Date. */
const read = (headers: Record<string, string>): ReturnType<typeof readQuotaHeaders> =>
  readQuotaHeaders({ date: DATE, ...headers }, NOW - 5 * hour);
const delta = (value: number, unit: 'seconds' | null = null): StatedReset => ({ form: 'delta', value, unit });
const plan = (limit: number | null, remaining: number, reset: StatedReset): PlanWindow => ({ limit, remaining, reset });

describe('quota headers', () => {
  it.each<[string, Record<string, string>, object]>([
    [
      'X-RateLimit-* (GitHub and many others): one window without a name',
      { 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '4999', 'x-ratelimit-reset': '2100000000' },
      { plan: plan(5_000, 4_999, { form: 'epoch seconds', inMs: 2_100_000_000_000 - NOW, slackMs: 1_000 }), windows: [] },
    ],
    [
      'X-Rate-Limit-* (FullContact)',
      { 'x-rate-limit-limit': '600', 'x-rate-limit-remaining': '598', 'x-rate-limit-reset': '46' },
      { plan: plan(600, 598, delta(46)), windows: [] },
    ],
    [
      'RateLimit-* of the first IETF drafts: in seconds',
      { 'ratelimit-limit': '100, 100;w=60', 'ratelimit-remaining': '7', 'ratelimit-reset': '42' },
      { plan: plan(100, 7, delta(42, 'seconds')), windows: [] },
    ],
    [
      'Kong: a window in each name',
      {
        'x-ratelimit-limit-second': '10',
        'x-ratelimit-remaining-second': '9',
        'x-ratelimit-limit-hour': '1000',
        'x-ratelimit-remaining-hour': '998',
      },
      {
        plan: null,
        windows: [
          { periodMs: second, limit: 10, remaining: 9, resetMs: null },
          { periodMs: hour, limit: 1_000, remaining: 998, resetMs: null },
        ],
      },
    ],
    [
      'Kong: windows beside the tightest of them',
      {
        'ratelimit-limit': '1000',
        'ratelimit-remaining': '12',
        'ratelimit-reset': '1800',
        'x-ratelimit-limit-minute': '60',
        'x-ratelimit-remaining-minute': '59',
        'x-ratelimit-limit-hour': '1000',
        'x-ratelimit-remaining-hour': '12',
      },
      {
        plan: null,
        windows: [
          { periodMs: minute, limit: 60, remaining: 59, resetMs: null },
          { periodMs: hour, limit: 1_000, remaining: 12, resetMs: null },
        ],
      },
    ],
    [
      'Apollo and Lusha: the remaining requests of each window',
      {
        'x-rate-limit-minute': '50',
        'x-minute-usage': '5',
        'x-minute-requests-left': '45',
        'x-rate-limit-hourly': '100',
        'x-hourly-requests-left': '95',
        'x-rate-limit-daily': '300',
        'x-daily-requests-left': '295',
        'x-daily-usage': '5',
      },
      {
        plan: null,
        windows: [
          { periodMs: minute, limit: 50, remaining: 45, resetMs: null },
          { periodMs: hour, limit: 100, remaining: 95, resetMs: null },
          { periodMs: day, limit: 300, remaining: 295, resetMs: null },
        ],
      },
    ],
    [
      'a day that is named by its hours, with a reset that has no name',
      { 'x-rate-limit-24-hour': '50', 'x-24-hour-requests-left': '38', 'x-ratelimit-reset': String(NOW / 1_000 + 7_200) },
      { windows: [{ periodMs: day, limit: 50, remaining: 38, resetMs: 2 * hour }] },
    ],
    [
      'a named window whose reset is a Go duration',
      { 'x-ratelimit-limit-hour': '1000', 'x-ratelimit-remaining-hour': '998', 'x-ratelimit-reset-hour': '1h2m3s' },
      { windows: [{ periodMs: hour, limit: 1_000, remaining: 998, resetMs: 3_723_000 }] },
    ],
    [
      'only what was used',
      { 'x-rate-limit-hourly': '100', 'x-hourly-usage': '30' },
      { windows: [{ periodMs: hour, limit: 100, remaining: 70, resetMs: null }] },
    ],
    [
      'People Data Labs: windows by name in one header',
      {
        'x-ratelimit-limit': "{'minute': 100, 'day': 1000}",
        'x-ratelimit-remaining': "{'minute': 99, 'day': 900}",
        'x-ratelimit-reset': "{'minute': '2036-07-15T12:00:30Z', 'day': '2036-07-16T00:00:00Z'}",
      },
      {
        plan: plan(100, 99, { form: 'date', inMs: 30_000, slackMs: 1_000 }),
        windows: [{ periodMs: day, limit: 1_000, remaining: 900, resetMs: 12 * hour }],
      },
    ],
    [
      'RateLimit of the IETF draft, without a policy: a window without a name',
      { ratelimit: '"default";r=50;t=30' },
      { plan: plan(null, 50, delta(30, 'seconds')), windows: [] },
    ],
    [
      'RateLimit and RateLimit-Policy: every quota by its name',
      {
        'ratelimit-policy': '"burst";q=100;w=60,"daily";q=1000;w=86400',
        ratelimit: '"burst";r=99;t=12, "daily";r=4;t=36000',
      },
      { plan: plan(100, 99, delta(12, 'seconds')), windows: [{ periodMs: day, limit: 1_000, remaining: 4, resetMs: 10 * hour }] },
    ],
    [
      'a quota that does not count requests',
      { 'ratelimit-policy': '"bytes";q=65535;qu="content-bytes";w=10', ratelimit: '"bytes";r=1;t=5' },
      { plan: null, windows: [] },
    ],
    [
      'RateLimit of draft 07',
      { 'ratelimit-policy': '10;w=1, 1000;w=3600', ratelimit: 'limit=1000, remaining=3, reset=1800' },
      { windows: [{ periodMs: hour, limit: 1_000, remaining: 3, resetMs: hour / 2 }] },
    ],
    [
      'X-RateLimit-* count before RateLimit',
      {
        'x-ratelimit-limit': '1000',
        'x-ratelimit-remaining': '7',
        'x-ratelimit-reset': '60',
        'ratelimit-policy': '"plan";q=5;w=3600',
        ratelimit: '"plan";r=0;t=3600',
      },
      { plan: plan(1_000, 7, delta(60)), windows: [] },
    ],
    [
      'a month',
      { 'x-ratelimit-limit-month': '100000', 'x-ratelimit-remaining-month': '0', 'x-ratelimit-reset-month': '86400' },
      { windows: [{ periodMs: month, limit: 100_000, remaining: 0, resetMs: day }] },
    ],
    [
      'a delta that is longer than its window: milliseconds',
      { 'x-ratelimit-limit-hour': '100', 'x-ratelimit-remaining-hour': '0', 'x-ratelimit-reset-hour': '1800000' },
      { windows: [{ periodMs: hour, limit: 100, remaining: 0, resetMs: hour / 2 }] },
    ],
    [
      'nonsense',
      {
        'x-ratelimit-remaining-hour': 'lots',
        'x-hourly-requests-left': '-3',
        ratelimit: '"a";r=1e3',
        'x-daily-requests-left': '7',
        'x-rate-limit-daily': '5',
      },
      { plan: null, windows: [] },
    ],
  ])('%s', (_name, headers, expected) => {
    expect(read(headers)).toMatchObject(expected);
  });

  it.each<[string, Record<string, string>]>([
    ['no quota header', { 'content-type': 'application/json', 'content-length': '7' }],
    ['an unlimited plan that states nothing else', { 'x-ratelimit-limit': '0' }],
  ])('give null for %s', (_name, headers) => expect(read(headers)).toBeNull());

  it('never throw, and never give a negative reset or more remaining requests than the limit', () => {
    const name = fc.constantFrom(
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
      'ratelimit',
      'ratelimit-policy',
      'x-rate-limit-daily',
      'x-daily-requests-left',
      'x-ratelimit-remaining-hour',
      'x-ratelimit-limit-hour',
      'x-ratelimit-reset-hour',
      'x-minute-usage',
    );
    const value = fc.oneof(
      fc.string(),
      fc.nat().map(String),
      fc.constantFrom(
        "{'day': 5, 'hour': '7'}",
        '"a";r=5;t=9',
        '"a";q=1;w=2,b;q=3',
        'limit=1, remaining=2, reset=3',
        '{',
        '""',
        ';;;',
        '"\\"";r=1',
      ),
    );
    fc.assert(
      fc.property(fc.dictionary(name, value), (headers) => {
        for (const { periodMs, limit, remaining, resetMs } of read(headers)?.windows ?? []) {
          expect(remaining).toBeGreaterThanOrEqual(0);
          expect(limit ?? Infinity).toBeGreaterThanOrEqual(remaining);
          expect(resetMs ?? 0).toBeGreaterThanOrEqual(0);
          expect(Number.isSafeInteger(periodMs)).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });
});
