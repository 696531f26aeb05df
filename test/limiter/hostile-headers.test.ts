/** Hostile headers: each is read in a time that grows linearly with its length. */
import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { AnswerReader } from '../../src/limiter/answer-reader.ts';
import { ietfQuotas } from '../../src/client/quota/ietf-quotas.ts';
import { readQuotaHeaders } from '../../src/client/quota/quota-headers.ts';
import { PERIODS_MS } from '../../src/util/periods.ts';
import { neverHangs } from '../support/never-hangs.ts';

const LENGTH = 2_000;
const HEADERS = [
  'ratelimit',
  'ratelimit-policy',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-rate-limit-limit',
  'x-rate-limit-daily',
  'x-daily-requests-left',
  'x-hourly-usage',
  'x-ratelimit-remaining-hour',
  'x-ratelimit-reset-hour',
  'date',
];
/** The characters and items to which the formats give a meaning. */
const FRAGMENTS = [
  '"',
  '""',
  '\\',
  '\\"',
  ';',
  '=',
  ',',
  ':',
  '::',
  "'",
  '{',
  '}',
  ' ',
  '\t',
  '-',
  '.',
  '!',
  '<',
  'a',
  '1',
  '"d"',
  '"d";r=1',
  '10;w=1',
  ';a=""',
  ';a',
  ';a="',
  ';a=:',
  ';a=::',
  ';a=b',
  ';a="b"',
  ' ;a',
  "'day': 5",
  'minute:',
  'per-',
  'limit=1',
  'remaining=1',
  'Tue, ',
  '2036-',
];
/** A beginning, something that comes again and again, and an end that fits or does not. */
const hostile = fc
  .tuple(
    fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 2 }),
    fc.array(fc.constantFrom(...FRAGMENTS), { minLength: 1, maxLength: 3 }),
    fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 2 }),
  )
  .map((parts) => parts.map((fragments) => fragments.join('')) as [string, string, string])
  .map(([start, again, end]) => `${start}${again.repeat(Math.floor((LENGTH - start.length - end.length) / again.length))}${end}`);

it.each([
  ['forty empty strings', `"d";r=1${';a=""'.repeat(40)} !`],
  ['380 of them', `"d";r=1${';a=""'.repeat(380)} !`],
  ['empty byte sequences', `"d";r=1${';a=::'.repeat(380)}"`],
  ['names', '"d"'.repeat(600)],
  ['escaped quotes', '\\"'.repeat(900)],
  ['white space', `a${' '.repeat(1_900)}!`],
  ['hyphens', `{${'-'.repeat(1_900)}`],
])('a header is read and done with, and states nothing: %s', (_what, value) => {
  neverHangs(() => readQuotaHeaders(Object.fromEntries(HEADERS.map((name) => [name, value])), 0));
  expect(neverHangs(() => ietfQuotas(value, value))).toEqual([]);
});

it('headers of 2,000 characters of many kinds are read and done with, whichever they are', () => {
  const reader = new AnswerReader({ rpm: 1_000 });
  neverHangs(() => {
    fc.assert(
      fc.property(hostile, fc.subarray(HEADERS, { minLength: 1 }), (value, names) => {
        const { windows } = reader.read(
          { quota: readQuotaHeaders(Object.fromEntries(names.map((name) => [name, value])), 0), retryAfterMs: null, throttled: false },
          0,
        );
        for (const { periodMs, remaining } of windows) expect([periodMs > 0, remaining >= 0]).toEqual([true, true]);
      }),
      { numRuns: 2_000 },
    );
  });
});

it('an item that is half understood states nothing, and spoils none of the others', () => {
  const quotas = ietfQuotas(
    '"a b";r=1;t=2, c;r=3;pk=:aGk=:, "d\\"";r=4;x, "e";r=5;=, ;r=6, f g;r=7, "h;r=8',
    '"a b";q=9;w=60;comment="x, y; q=1"',
  );
  expect(quotas.map(({ remaining, resetS, limit }) => [remaining, resetS, limit])).toEqual([
    [1, 2, 9],
    [3, null, 9],
    [4, null, 9],
  ]);
});

it('a window has the name of a period, and not of something that every object has', () => {
  const value = "{'constructor': 5, '__proto__': 5, 'toString': 5, 'hour': 7}";
  expect(readQuotaHeaders({ 'x-ratelimit-remaining': value }, 0)?.windows).toEqual([
    { periodMs: PERIODS_MS.hour, limit: null, remaining: 7, resetMs: null },
  ]);
});
