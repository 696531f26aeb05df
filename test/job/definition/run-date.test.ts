import { expect, test } from 'vitest';
import { dateNamedBy } from '../../../src/job/definition/run-date.ts';

test.each([
  ['2026-11-20', '2026-11-20'],
  // 2026-11-20 02:30 UTC, and the last minute of that day.
  ['millrace-29919030', '2026-11-20'],
  ['millrace-29920319', '2026-11-20'],
  ['millrace-29920320', '2026-11-21'],
  ['acme.nightly-leads-29920319', '2026-11-20'],
  ['millrace-2026-11-20', '2026-11-20'],
  ['again-2-2026-11-20', '2026-11-20'],
])('%s is a run of %s', (text, day) => {
  expect(dateNamedBy(text)).toBe(day);
});

test.each(['', 'today', '2025-02-29', 'millrace-2025-02-29', '29920319', 'millrace', 'millrace-1', 'millrace-manual-x7k2p', 'millrace-20261120', 'millrace-29920319-abcde', 'Millrace-29920319', '20-11-2026'])('"%s" names no day', (text) => {
  expect(dateNamedBy(text)).toBeNull();
});
