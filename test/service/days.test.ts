import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { DAY_MS, plainDay, plainMidnight } from '../../src/service/days.ts';

const two = (max: number) => fc.integer({ min: 0, max }).map((number) => String(number).padStart(2, '0'));
const year = fc.oneof(fc.integer({ min: 0, max: 10_000 }).map((number) => String(number).padStart(4, '0')), fc.constantFrom('20x6', '-026', '２０２６'));
const day = fc.tuple(year, two(13), two(32), fc.constantFrom('-', '-', '-', '/')).map(([y, m, d, sign]) => [y, m, d].join(sign));

it('what is taken for a plain day is the day that it is for the engine, and a plain midnight its beginning', () => {
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
  expect(plain).toBeGreaterThan(100);
});

it.each(['2026-02-28', '1000-01-01', '9999-12-01'])('%s is a plain day, and of no other form', (text) => {
  expect(plainDay(text)).not.toBeNull();
  for (const other of [text.slice(1), ` ${text}`, text.replace('-', '/'), text.slice(0, 8), `${text.slice(0, 8)}29`]) expect(plainDay(other)).toBeNull();
});
