import * as fc from '../../support/fast-check.ts';
import { expect, test } from 'vitest';
import { goDurationMs } from '../../../src/client/quota/go-duration.ts';

test.each<[string, number]>([
  ['0m13.400s', 13_400],
  ['6m0s', 360_000],
  ['1s', 1_000],
  ['13.4s', 13_400],
  ['250ms', 250],
  ['1h2m3s', 3_723_000],
  ['0s', 0],
  ['.5s', 500],
  ['1.5h', 5_400_000],
  ['10us', 1],
  ['3µs', 1],
  ['1d', 86_400_000],
])('the Go duration %s is %i ms', (text, ms) => {
  expect(goDurationMs(text)).toBe(ms);
});

test.each([
  '',
  '5',
  's',
  '5x',
  '1m 3s',
  '-1s',
  '+1s',
  '1.2.3s',
  '.s',
  '1s3',
  '1e3s',
  '0x1s',
  'constructor',
  '1constructor',
  '1m0s;w=60',
  '1s'.repeat(21),
])('%j is not a Go duration', (text) => {
  expect(goDurationMs(text)).toBeNull();
});

test('a Go duration of hours, minutes and seconds is read to the millisecond', () => {
  fc.assert(
    fc.property(fc.nat(700), fc.nat(59), fc.nat(59_999), (h, m, ms) => {
      expect(goDurationMs(`${h}h${m}m${(ms / 1_000).toFixed(3)}s`)).toBe((h * 60 + m) * 60_000 + ms);
    }),
  );
});
