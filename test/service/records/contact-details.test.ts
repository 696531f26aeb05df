import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { holdsAddress, withoutContacts } from '../../../src/service/records/contact-details.ts';
import { casesOf } from '../../support/sample.ts';

it.each([
  ['Ann Poe <ann@acme.example>', 'Ann Poe'],
  ['Write to ann@acme.example, or call +49 (0)30 901820 today', 'Write to or call today'],
  ['ann@acme.example', ''],
  ['mailto:ann@acme.example', ''],
  ['"ann poe"@acme.example', ''],
  ['+1 (212) 555-0100', ''],
  ['https://x.example/?to=ann%40acme.example', ''],
  ['https://x.example/?call=%2B12125550100', ''],
  ['https://x.example/ann+12125550100', ''],
  ['Write to ann＠acme.example today', 'Write to today'],
  ['Write to an\u200bn@acme.example or a\u00adnn@acme.example', 'Write to or'],
  ['Call ＋１２１２５５５０１００ today', 'Call today'],
  ['Call +1\u2011212\u2013555\u20110100 or \u202a+12125550100\u202c', 'Call or'],
])('%s without its contact data is %j', (text, left) => {
  expect(withoutContacts(text)).toBe(left);
});

it.each([
  'CTO @ Acme',
  '@acme',
  'C++ 11 and C++14',
  '+100 users',
  '100%',
  'https://video.example/@acme.official',
  'https://social.example/@ann',
  '{first}.{last}@acme.example',
  '2026-01-31',
  '12125550100',
  '0012345678',
  'Ａｃｍｅ ＠ ５＋',
  'Na⁺ and 10 + 2',
  'R&D (EMEA) + Sales',
  'https://x.example/a%20b?q=c+d',
])('%s has no contact data and stays unchanged', (text) => {
  expect(withoutContacts(text)).toBe(text);
});

it('a text without its contact data has none left, and does not change when it is cleaned again', () => {
  const part = fc.oneof(
    fc.constantFrom(
      ' ',
      'a',
      '@',
      '+',
      '%40',
      '"',
      '<',
      '.',
      'b.example',
      '+4930901820',
      'ann@acme.example',
      '12',
      '\n',
      '＠',
      '＋４',
      '\u200b',
      '\u0301',
      '％40',
    ),
    fc.string({ maxLength: 3 }),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const left = withoutContacts(parts.join(''));
      expect([withoutContacts(left), holdsAddress(left)]).toEqual([left, false]);
    }),
    { numRuns: casesOf(500, 5_000) },
  );
});
