import { describe, expect, it } from 'vitest';
import { decodeAnswer, encodeAnswer, isFromSample, kindName, markedAsSample, type LedgerAnswer } from '../../src/ledger/answer.ts';

const ANSWERS: readonly (readonly [number, LedgerAnswer])[] = [
  [0, { kind: 'hit', text: '{"name":"Ada"}' }],
  [1, { kind: 'miss' }],
  [1, { kind: 'miss', text: '[200,{}]' }],
  [2, { kind: 'suppressed' }],
  [3, { kind: 'unsettled', text: '{"result":"unknown"}' }],
  [4, { kind: 'failed', code: 'http_500', attempts: 5, requestId: 'r-1' }],
  [5, { kind: 'asking', text: '["seed"]' }],
];

describe('a kept answer', () => {
  it.each(ANSWERS)('an answer is stored under the number %d of its kind, and read as it was: %j', (number, answer) => {
    const { kind, body } = encodeAnswer(answer);
    expect(kind).toBe(number);
    expect(decodeAnswer(kind, body)).toEqual(answer);
    expect(isFromSample(answer)).toBe(false);
  });

  it.each(ANSWERS.filter(([, { kind }]) => ['hit', 'miss', 'unsettled'].includes(kind)))(
    'an answer from sample data has 16 more than %d, and says so when it is read: %j',
    (number, answer) => {
      const marked = markedAsSample(answer);
      const { kind, body } = encodeAnswer(marked);
      expect(kind).toBe(number + 16);
      expect(kindName(kind)).toBe(answer.kind);
      expect(decodeAnswer(kind, body)).toEqual({ ...answer, isSample: true });
      expect(isFromSample(decodeAnswer(kind, body))).toBe(true);
    },
  );
});
