import { expect, test } from 'vitest';
import { readQuotaHeaders } from '../../src/client/quota/quota-headers.ts';
import { AnswerReader } from '../../src/limiter/answer-reader.ts';

const NOW = Date.UTC(2036, 6, 15, 12);

function listening(): {
  readonly said: string[];
  readonly read: (reset: string, more?: Record<string, string>) => ReturnType<AnswerReader['read']>;
} {
  const said: string[] = [];
  const reader = new AnswerReader({
    rpm: 180,
    onResetUnit: (how) => said.push(how),
    onUnreadableReset: (value) => said.push(`unreadable: ${value}`),
    onNegativeQuota: (what) => said.push(`negative: ${what}`),
  });
  const read = (reset: string, more: Record<string, string> = {}): ReturnType<AnswerReader['read']> =>
    reader.read(
      {
        quota: readQuotaHeaders({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': reset, ...more }, NOW),
        retryAfterMs: null,
        throttled: false,
      },
      0,
    );
  return { said, read };
}

test('a Go duration is a reset whose unit is certain, and the log reports it once', () => {
  const { said, read } = listening();
  expect(read('0m13.400s').reading).toMatchObject({ resetMs: 13_400, resetSlackMs: 0, resetIsSure: true });
  // It may be rounded to whole seconds.
  expect(read('6m0s').reading).toMatchObject({ resetMs: 360_000, resetSlackMs: 1_000, resetIsSure: true });
  read('250ms');
  expect(said).toEqual(['as a duration']);
});

test('each form of reset has words that complete a sentence of the log', () => {
  const forms: [string, string][] = [
    ['2036-07-15T12:00:30Z', 'as a date'],
    [String(NOW / 1_000 + 30), 'in epoch seconds'],
    [String(NOW + 30_000), 'in epoch milliseconds'],
  ];
  for (const [reset, words] of forms) {
    const { said, read } = listening();
    for (let i = 0; i < 3; i++) read(reset);
    expect(said).toEqual([words]);
  }
});

test('a reset that cannot be read is reported once, also for a named window', () => {
  const { said, read } = listening();
  for (const reset of ['soon', 'soon', 'later']) expect(read(reset).reading).toMatchObject({ remaining: 9, resetMs: null });
  expect(said).toEqual(['unreadable: soon']);
  const named = listening();
  named.read('7', { 'x-ratelimit-remaining-hour': '5', 'x-ratelimit-reset-hour': 'at noon' });
  expect(named.said).toEqual(['unreadable: at noon']);
});

test.each([
  ['x-ratelimit-remaining', 'remaining -1', { limit: 60, remaining: null, resetMs: 30_000 }],
  ['x-ratelimit-limit', 'limit -1', { limit: null, remaining: 9, resetMs: 30_000 }],
  ['x-ratelimit-reset', 'reset -1', { limit: 60, remaining: 9, resetMs: null }],
])('a negative %s is unknown, and the log reports it once', (name, what, reading) => {
  const { said, read } = listening();
  expect(read('30', { [name]: '-1' }).reading).toMatchObject({ ...reading, unlimited: false });
  read('30', { [name]: '-1' });
  expect(said).toEqual([`negative: ${what}`]);
});
