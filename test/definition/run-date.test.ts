import { expect, test } from 'vitest';
import { dateNamedBy, nearestDate } from '../../src/definition/run-date.ts';

test.each([
  ['2026-11-20', '2026-11-20'],
  // 2026-11-20 02:30 UTC, and the last minute of that day.
  ['millrace-29919030', '2026-11-20'],
  ['millrace-29920319', '2026-11-20'],
  ['millrace-29920320', '2026-11-21'],
  ['acme.nightly-leads-29920319', '2026-11-20'],
  ['millrace-2026-11-20', '2026-11-20'],
  ['again-2-2026-11-20', '2026-11-20'],
  ['millrace-2026-11-20-2', '2026-11-20'],
  ['millrace-2026-11-20-101530', '2026-11-20'],
  ['millrace-2026-11-20-again', '2026-11-20'],
  ['copy-2026-11-19-2026-11-20', '2026-11-20'],
])('%s is a run of %s', (text, day) => {
  expect(dateNamedBy(text)).toBe(day);
});

test.each([
  '',
  'today',
  '2025-02-29',
  'millrace-2025-02-29',
  '29920319',
  'millrace',
  'millrace-1',
  'millrace-manual-x7k2p',
  'millrace-20261120',
  'millrace-29920319-abcde',
  'millrace-2026-11-20-',
  'millrace-2025-02-29-2',
  'millrace-2026-11-20-too-long',
  'millrace-2026-11-20-morning',
  'Millrace-29920319',
  '20-11-2026',
])('"%s" names no day', (text) => {
  expect(dateNamedBy(text)).toBeNull();
});

test.each([
  ['2026-3-1', '2026-03-01'],
  ['2026/03/01', '2026-03-01'],
  ['2026.3.1', '2026-03-01'],
  ['20260301', '2026-03-01'],
  ['2026-03-01T05:00:00Z', '2026-03-01'],
  ['2026-02-30', '2026-02-28'],
  ['2028-02-30', '2028-02-29'],
  ['today', '2026-03-01'],
  ['Yesterday', '2026-02-28'],
  // Ambiguous: either number may be the day.
  ['01/03/2026', null],
  ['2026-13-01', null],
  ['millrace', null],
  ['constructor', null],
])('"%s" probably means %s', (text, day) => {
  expect(nearestDate(text, '2026-03-01')).toBe(day);
});
