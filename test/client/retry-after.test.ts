import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { parseRetryAfter } from '../../src/client/retry-after.ts';
import { parseHttpDate } from '../../src/util/http-date.ts';

const NOW = Date.UTC(2026, 0, 15, 12, 0, 0);
/** Whole seconds between 1970 and 9999. */
const seconds = fc.integer({ min: 0, max: 253_402_300_799 });
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

const imf = (ms: number): string => new Date(ms).toUTCString();
function rfc850(ms: number): string {
  const [, day, month, year, time] = imf(ms).split(/[, ]+/);
  return `${DAYS[new Date(ms).getUTCDay()]}, ${day}-${month}-${year?.slice(2)} ${time} GMT`;
}
function asctime(ms: number): string {
  const [week, day, month, year, time] = imf(ms).split(/[, ]+/);
  return `${week} ${month} ${String(Number(day)).padStart(2, ' ')} ${time} ${year}`;
}

describe('Retry-After', () => {
  it('may state seconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e9 - 1 }), (s) => {
        expect(parseRetryAfter(String(s), undefined, NOW)).toBe(s * 1000);
        expect(parseRetryAfter(` ${s} `, 'Sun, 06 Nov 1994 08:49:37 GMT', NOW)).toBe(s * 1000);
      }),
    );
  });

  it('may state a date in three forms, relative to the Date of the answer, so that the local clock does not matter', () => {
    fc.assert(
      fc.property(seconds, fc.integer({ min: 0, max: 1_000_000 }), seconds, (server, wait, local) => {
        const until = Math.min(server + wait, 253_402_300_799) * 1000;
        for (const form of [imf, asctime]) {
          expect(parseRetryAfter(form(until), imf(server * 1000), local * 1000)).toBe(until - server * 1000);
        }
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40 * 365 * 86_400 }), (wait) => {
        expect(parseRetryAfter(rfc850(NOW + wait * 1000), undefined, NOW)).toBe(wait * 1000);
      }),
    );
  });

  it('may state an epoch in seconds or milliseconds, relative to the Date of the answer', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000_000_000, max: 4_000_000_000 }),
        fc.integer({ min: 0, max: 1_000_000 }),
        seconds,
        (server, wait, local) => {
          for (const form of [(s: number) => String(s), (s: number) => String(s * 1_000)])
            expect(parseRetryAfter(form(server + wait), imf(server * 1_000), local * 1_000)).toBe(wait * 1_000);
        },
      ),
    );
    expect(parseRetryAfter('1795807382', undefined, 1_795_807_352_000)).toBe(30_000);
  });

  it('gives 0 for a time in the past in every form', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e9 }), (s) => {
        expect(parseRetryAfter(`-${s}`, undefined, NOW)).toBe(0);
        expect(parseRetryAfter(imf(NOW - s * 1000), undefined, NOW)).toBe(0);
      }),
    );
  });

  it('keeps its length and stays finite', () => {
    expect(parseRetryAfter('315360000', undefined, NOW)).toBe(315_360_000_000);
    expect(parseRetryAfter('9'.repeat(400), undefined, NOW)).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('gives a whole non-negative number or null for any text', () => {
    fc.assert(
      fc.property(fc.string(), fc.option(fc.string(), { nil: undefined }), (value, date) => {
        const ms = parseRetryAfter(value, date, NOW);
        expect(ms === null || (Number.isSafeInteger(ms) && ms >= 0)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    '',
    'soon',
    '1e3',
    '0x10',
    '12 s',
    'NaN',
    'Infinity',
    '12,5',
    'Sun, 06 Foo 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 25:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37 CET',
    '1,2',
  ])('gives null for %j', (value) => expect(parseRetryAfter(value, undefined, NOW)).toBeNull());

  it('gives null when absent, uses the first of several, and reads fractions and RFC 3339', () => {
    expect(parseRetryAfter(undefined, undefined, NOW)).toBeNull();
    expect(parseRetryAfter([], undefined, NOW)).toBeNull();
    expect(parseRetryAfter(['3', '9'], undefined, NOW)).toBe(3000);
    expect(parseRetryAfter('0.25', undefined, NOW)).toBe(250);
    expect(parseRetryAfter('2026-01-15T13:00:30+01:00', undefined, NOW)).toBe(30_000);
  });
});

describe('HTTP dates', () => {
  it('give one moment for all examples of RFC 9110', () => {
    const moment = Date.UTC(1994, 10, 6, 8, 49, 37);
    for (const text of ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994']) {
      expect(parseHttpDate(text, NOW)).toBe(moment);
    }
  });

  it('keep four-digit years before 100, and put two-digit years into the nearest century', () => {
    expect(parseHttpDate('Thu, 01 Jan 0050 00:00:00 GMT', NOW)).toBe(new Date('0050-01-01T00:00:00Z').getTime());
    expect(parseHttpDate('Thursday, 01-Jan-76 00:00:00 GMT', NOW)).toBe(Date.UTC(2076, 0, 1));
    expect(parseHttpDate('Thursday, 01-Jan-77 00:00:00 GMT', NOW)).toBe(Date.UTC(1977, 0, 1));
  });
});
