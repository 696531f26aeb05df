import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { errorLine } from '../../../src/job/report/error-line.ts';
import { invalid } from '../../../src/processor/result.ts';
import { csvRecord, jsonRecord, manifestOf } from '../../writer/samples.ts';

describe('a line of the errors file', () => {
  const manifest = { ...manifestOf(['email']), files: [{ uri: 'a.csv' }] as never };

  it('exists for failed and invalid records alone', () => {
    for (const outcome of ['matched', 'no_match', 'suppressed'] as const)
      expect(errorLine(manifest, csvRecord(['x']), { ...invalid('x'), outcome })).toBeNull();
    expect(errorLine(manifest, csvRecord(['x']), invalid('bad_email'))).toBe(
      '{"file":"a.csv","line":2,"step":null,"key":null,"code":"bad_email","attempts":0,"requestId":null}',
    );
  });

  it('names the failed call, and has an unreadable line verbatim', () => {
    const failure = { step: 'verify', key: 'a@b.example', code: 'http_500', attempts: 5, requestId: 'r' } as const;
    expect(
      JSON.parse(errorLine(manifest, jsonRecord('"{\\"x"', 'no JSON', '{"x\u0007'), { ...invalid('x'), outcome: 'failed', failure }) ?? ''),
    ).toEqual({ file: 'a.csv', line: 2, ...failure, raw: '{"x\u0007' });
  });

  it('contains no line break, whatever the record contains', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        (raw) => errorLine(manifest, { ...csvRecord([]), raw }, invalid('bad_row'))?.includes('\n') === false,
      ),
    );
  });
});
