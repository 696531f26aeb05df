import { describe, expect, it } from 'vitest';
import { count, duration } from '../../src/util/display.ts';

describe('display', () => {
  it('writes counts with commas between thousands', () => {
    expect([0, 999, 1_000, 1_234_567].map(count)).toEqual(['0', '999', '1,000', '1,234,567']);
  });

  it('writes durations in their two largest units', () => {
    expect([0, 1, 1_000, 59_001, 59_999, 60_000, 185_000, 3_599_001, 3_600_000, 7_800_000, 360_000_000].map(duration)).toEqual([
      '0 s',
      '1 s',
      '1 s',
      '1 min 0 s',
      '1 min 0 s',
      '1 min 0 s',
      '3 min 5 s',
      '1 h 0 min',
      '1 h 0 min',
      '2 h 10 min',
      '100 h 0 min',
    ]);
  });
});
