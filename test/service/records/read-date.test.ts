import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { dayOf } from '../../../src/service/records/parse-date.ts';
import { isPlainDate, readPartialDate, readTime } from '../../../src/service/records/read-date.ts';
import { readWrittenDate } from '../../../src/service/records/written-date.ts';

const timeIn = (text: string): string | null => {
  const ms = readTime(text);
  return ms === null ? null : new Date(ms).toISOString().replace('T00:00:00.000Z', '').replace('.000Z', 'Z');
};

describe('a date in words or numbers', () => {
  it.each([
    ['01.03.2020', '2020-03-01'],
    ['1.3.2020', '2020-03-01'],
    ['13/04/2025', '2025-04-13'],
    ['04/13/2025', '2025-04-13'],
    ['04/04/2025', '2025-04-04'],
    ['13-04-2025', '2025-04-13'],
    ['2026-1-5', '2026-01-05'],
    ['2026/01/05', '2026-01-05'],
    ['2026.1.5', '2026-01-05'],
    ['Jan 5 2026', '2026-01-05'],
    ['January 5, 2026', '2026-01-05'],
    ['5 January 2026', '2026-01-05'],
    ['5th of January 2026', '2026-01-05'],
    ['05-Jan-2026', '2026-01-05'],
    ['2026-Jan-05', '2026-01-05'],
    ['Mon, 05 Jan 2026 10:00:00 GMT', '2026-01-05T10:00:00Z'],
    ['Mon Jan 05 2026 10:00:00 GMT+0100 (Central European Standard Time)', '2026-01-05T09:00:00Z'],
    ['5. Januar 2026', '2026-01-05'],
    ['1. März 2026', '2026-03-01'],
    ['5 de enero de 2026', '2026-01-05'],
    ['1er février 2026', '2026-02-01'],
    ['20250405', '2025-04-05'],
    ['20250405T101500Z', '2025-04-05T10:15:00Z'],
    ['2025-06', '2025-06-01'],
    ['06/2025', '2025-06-01'],
    ['Jun 2025', '2025-06-01'],
    ['13/04/2025 10:30', '2025-04-13T10:30:00Z'],
    ['4/13/2025, 10:30:05 PM', '2025-04-13T22:30:05Z'],
    ['4/13/2025 12:00 AM', '2025-04-13'],
    ['13.04.2025 10:30 +02:00', '2025-04-13T08:30:00Z'],
    ['1772323200', '2026-03-01'],
    ['1772323200000', '2026-03-01'],
  ])('%s is %s', (text, time) => expect(timeIn(text)).toBe(time));

  it.each([
    '03/04/2025',
    '3-4-2025',
    '31.02.2025',
    '13/13/2025',
    '30 Feb 2026',
    '2025-13',
    '13/2025',
    '32 Jan 2026',
    'Smarch 5 2026',
    'May',
    '5',
    '2025',
    '45752',
    '13/04/25',
    '13/04/2025 25:00',
    '4/13/2025 13:00 PM',
    'Jan 5 0001',
    '99991231',
    '0001-01-01',
    '1900-01-01T00:00:00Z',
    '9999-12-31',
    '13/04/2025 noon',
    '１３/04/2025',
  ])('%s is no date, or may be several', (text) => expect(timeIn(text)).toBeNull());

  it('a day is read in every form that names its month or begins with its year', () => {
    const day = fc.date({ min: new Date('1901-01-01'), max: new Date('2100-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(day, fc.constantFrom('en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'sv'), (date, language) => {
        const iso = date.toISOString().slice(0, 10);
        const named = (month: 'long' | 'short'): string =>
          new Intl.DateTimeFormat(language, { day: 'numeric', month, year: 'numeric', timeZone: 'UTC' }).format(date);
        expect(
          [named('long'), iso.replaceAll('-', ''), iso.replaceAll('-', '/'), iso.split('-').toReversed().join('.')].map(timeIn),
        ).toEqual([iso, iso, iso, iso]);
        if (language === 'en') expect(timeIn(named('short'))).toBe(iso);
      }),
      { numRuns: 1_000 },
    );
  });

  it('a date between slashes has two readings unless one of its numbers is above 12 or both are equal', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 28 }), fc.integer({ min: 1, max: 28 }), fc.constantFrom('/', '-'), (first, second, sign) => {
        const written = readWrittenDate([first, second, 2025].join(sign));
        const iso = (month: number, day: number): string => `2025-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
        if (first > 12 && second > 12) expect(written).toBeNull();
        else if (first > 12) expect(written).toMatchObject({ kind: 'one', iso: iso(second, first), order: 'dayFirst' });
        else if (second > 12) expect(written).toMatchObject({ kind: 'one', iso: iso(first, second), order: 'monthFirst' });
        else if (first === second) expect(written).toMatchObject({ kind: 'one', iso: iso(first, second), order: null });
        else expect(written).toEqual({ kind: 'two', dayFirst: iso(second, first), monthFirst: iso(first, second) });
      }),
    );
  });
});

it.each([
  ['2025', '2025'],
  ['2025-06', '2025-06'],
  ['06/2025', '2025-06'],
  ['Juni 2025', '2025-06'],
  ['13/04/2025', '2025-04-13'],
  ['2025-04-13T10:00:00Z', '2025-04-13'],
  ['Present', undefined],
  ['0001', undefined],
  ['2025-04-31', undefined],
  ['2025-04-30', '2025-04-30'],
  ['9999-12', undefined],
  ['03/04/2025', undefined],
])('%s is stored in an object as %s', (text, date) => expect(readPartialDate(text)).toBe(date));

it('a day is known at a glance exactly where the calendar has it', () => {
  const two = (most: number): fc.Arbitrary<string> => fc.integer({ min: 0, max: most }).map((number) => String(number).padStart(2, '0'));
  const year = fc.oneof(fc.integer({ min: 1890, max: 2110 }).map(String), fc.constantFrom('20x6', '-026', '1900', '2000', '2024'));
  fc.assert(
    fc.property(year, two(13), two(32), fc.constantFrom('-', '-', '-', '/'), (y, month, day, sign) => {
      const text = [y, month, day].join(sign);
      const ms = Date.parse(`${text}T00:00:00Z`);
      const exists = sign === '-' && !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text) && text >= '1901' && text < '2101';
      expect([text, isPlainDate(text)]).toEqual([text, exists]);
    }),
    {
      numRuns: 5_000,
      examples: [
        ['2024', '02', '29', '-'],
        ['2023', '02', '29', '-'],
        ['2025', '12', '31', '-'],
      ],
    },
  );
});

it('search reads days of ISO 8601 alone: the engine would read other texts by its own rules', () => {
  expect(['2025-06-30', '2025-06', '2025'].map(dayOf)).toEqual([20269, 20240, 20089]);
  expect(['01.03.2020', '13/04/2025', 'Present', 'March', '1'].map(dayOf)).toEqual([null, null, null, null, null]);
});
