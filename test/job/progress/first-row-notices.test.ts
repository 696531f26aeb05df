import { expect, test } from 'vitest';
import { firstRowNotices } from '../../../src/job/progress/first-row-notices.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';

test('a quote that stays open is warned of once, by its place: the lines after it are paid for as rows', () => {
  const warned: string[][] = [];
  const notices = firstRowNotices({ reporter: { warn: (...said) => void warned.push(said) }, checkpoint: CHECKPOINT, retry: null });
  notices.unclosed({ file: 0, line: 2 });
  notices.unclosed({ file: 0, line: 7 });
  expect(warned).toEqual([
    [
      'open_quote',
      expect.stringMatching(/, line 2, has a quote that is not closed within 1 MiB: .*each line after it is read and asked for/),
    ],
  ]);
});
