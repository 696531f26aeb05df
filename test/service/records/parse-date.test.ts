import * as fc from '../../support/fast-check.ts';
import { casesOf } from '../../support/sample.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY_MS, momentOf, monthsBefore, plainDay, plainMidnight } from '../../../src/service/records/parse-date.ts';

const HOUR_MS = 3_600_000;
const two = (max: number) => fc.integer({ min: 0, max }).map((number) => String(number).padStart(2, '0'));
const year = fc.oneof(
  fc.integer({ min: 0, max: 10_000 }).map((number) => String(number).padStart(4, '0')),
  fc.constantFrom('20x6', '-026', '２０２６'),
);
const day = fc.tuple(year, two(13), two(32), fc.constantFrom('-', '-', '-', '/')).map(([y, m, d, sign]) => [y, m, d].join(sign));

it('the fast parser gives the same days and midnights as the engine', () => {
  let plain = 0;
  fc.assert(
    fc.property(day, fc.constantFrom('', 'T00:00:00Z', 'T00:00:00z', 'T00:00:01Z', ' '), (text, rest) => {
      const days = plainDay(text + rest);
      if (days !== null) expect(days * DAY_MS).toBe(Date.parse(text));
      const ms = plainMidnight(text + rest);
      expect(ms).toBe(days !== null && rest === 'T00:00:00Z' ? Date.parse(text + rest) : null);
      if (ms !== null) plain++;
    }),
    { numRuns: 5_000 },
  );
  expect(plain).toBeGreaterThan(casesOf(30, 100));
});

it.each(['2026-02-28', '1000-01-01', '9999-12-01'])('%s is parsed as a day only in this form', (text) => {
  expect(plainDay(text)).not.toBeNull();
  for (const other of [text.slice(1), ` ${text}`, text.replace('-', '/'), text.slice(0, 8), `${text.slice(0, 8)}29`])
    expect(plainDay(other)).toBeNull();
});

describe('a time, on a machine outside UTC', () => {
  const { TZ: before } = process.env;
  beforeAll(() => {
    process.env['TZ'] = 'Asia/Kathmandu';
    expect(new Date(0).getTimezoneOffset()).not.toBe(0);
  });
  afterAll(() => {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  });

  const moment = fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9998-12-31T00:00:00Z'), noInvalidDate: true });

  it('a time is in UTC unless it has an offset', () => {
    fc.assert(
      fc.property(
        moment,
        fc.integer({ min: -14 * 60, max: 14 * 60 }),
        fc.constantFrom('T', ' '),
        fc.constantFrom(':', ''),
        (date, minutes, between, colon) => {
          const text = date.toISOString().replace('T', between);
          const away = Math.abs(minutes);
          const clock = [Math.floor(away / 60), away % 60].map((part) => String(part).padStart(2, '0')).join(colon);
          const offset = `${minutes < 0 ? '-' : '+'}${clock}`;
          expect(momentOf(text)).toBe(date.getTime());
          expect(momentOf(text.slice(0, -1))).toBe(date.getTime());
          expect(momentOf(text.replace('Z', offset))).toBe(date.getTime() - minutes * 60_000);
          // ISO 8601 also has offsets of whole hours without minutes, and databases write them.
          expect(momentOf(text.replace('Z', offset.slice(0, 3)))).toBe(
            date.getTime() - Math.sign(minutes) * Math.floor(away / 60) * HOUR_MS,
          );
          // Databases also write a space before the offset, and people the zone's name.
          expect(momentOf(text.replace('Z', ` ${offset}`))).toBe(date.getTime() - minutes * 60_000);
          for (const name of ['UTC', 'GMT', 'utc']) expect(momentOf(text.replace('Z', ` ${name}`))).toBe(date.getTime());
          expect(momentOf(text.slice(0, 10))).toBe(Math.floor(date.getTime() / DAY_MS) * DAY_MS);
        },
      ),
    );
  });

  it('a time on a day that does not exist is rejected', () => {
    let days = 0;
    fc.assert(
      fc.property(day, fc.constantFrom('', 'T12:30', ' 12:30:00Z'), (text, rest) => {
        const ms = momentOf(text + rest);
        const there =
          /^\d{4}(?:-\d{2}){2}$/.test(text) &&
          new Date(Date.UTC(2000, 0)).setUTCFullYear(
            ...(text.split('-').map((part, at) => Number(part) - (at === 1 ? 1 : 0)) as [number, number, number]),
          );
        const exists = there !== false && new Date(there).toISOString().startsWith(text);
        expect(ms === null ? null : new Date(ms).toISOString().slice(0, 10)).toBe(exists ? text : null);
        if (exists) days++;
      }),
      { numRuns: 2_000 },
    );
    expect(days).toBeGreaterThan(casesOf(30, 100));
  });

  it.each([
    '2026-02-30',
    '2026-02-29T10:00:00Z',
    '2026-04-31 10:00',
    '9999-12-31T23:59:59-14:00',
    '0000-01-01T00:00:00+01:00',
    '2026-01-31T',
    '2026-01-31T12+01',
    '2026-01-31-05',
    '2026-01-31 -05',
    '2026-01-31 12:00 CET',
    '2026-01-31 12:00 UTC UTC',
    '2026-01-31x',
    '31.01.2026',
    '',
  ])('%j is not a time', (text) => expect(momentOf(text)).toBeNull());
});

it.each([
  ['2026-03-15', 1, '2026-02-15'],
  ['2026-03-30', 1, '2026-02-28'],
  ['2026-02-28', 1, '2026-01-31'],
  ['2026-02-27', 1, '2026-01-27'],
  ['2024-02-29', 12, '2023-02-28'],
  ['2026-11-27', 0, '2026-11-27'],
  ['2026-01-15', 13, '2024-12-15'],
])('on %s, the last day that is %i whole months ago is %s', (today, months, since) => {
  expect(new Date(monthsBefore(Date.parse(today) / DAY_MS, months) * DAY_MS).toISOString().slice(0, 10)).toBe(since);
});
