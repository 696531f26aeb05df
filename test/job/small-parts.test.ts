import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changedDefinition } from '../../src/job/changed-definition.ts';
import { WRITTEN_INPUT } from '../../src/job/definition/compile-job.ts';
import { errorLine } from '../../src/job/error-line.ts';
import { sizeOf } from '../../src/job/record-size.ts';
import { serviceOrigin } from '../../src/job/service-origin.ts';
import type { CompiledJob } from '../../src/job/types.ts';
import { finishedExitCode } from '../../src/job/verdict.ts';
import { count, duration } from '../../src/job/words.ts';
import { invalid } from '../../src/processor/result.ts';
import { EMPTY_TALLY } from '../../src/writer/tally.ts';
import { csvRecord, jsonRecord, manifestOf } from '../writer/samples.ts';
import { compiled, LEAST } from './definition/support.ts';

describe('the exit code of a finished run', () => {
  const n = fc.nat({ max: 10_000 });
  const tally = (total: number, failed: number) => ({ ...EMPTY_TALLY, total, outcomes: { ...EMPTY_TALLY.outcomes, failed } });
  const code = (maxErrors: CompiledJob['limits']['maxErrors'], total: number, failed: number): number => finishedExitCode({ limits: { maxErrors } as CompiledJob['limits'] }, tally(total, failed));

  it('is 1 when more failed than the count allows', () => {
    fc.assert(fc.property(n, n, (allowed, failed) => code({ count: allowed }, 20_000, failed) === (failed > allowed ? 1 : 0)));
  });

  it('is 1 when a greater share of all records failed than is allowed', () => {
    expect([code({ share: 0.05 }, 100, 5), code({ share: 0.05 }, 100, 6), code({ share: 0 }, 100, 1), code({ share: 1 }, 100, 100)]).toEqual([0, 1, 1, 0]);
  });

  it('is 0 when just the share failed that is allowed, whatever fractions it is written in, and 1 with one more', () => {
    const decimals = fc.constantFrom(0, 1, 2, 3);
    fc.assert(
      fc.property(decimals, fc.nat(), fc.integer({ min: 1, max: 1_000 }), (places, seed, times) => {
        const whole = 100 * 10 ** places;
        const part = seed % whole;
        const { limits } = compiled({ flags: { ...LEAST, 'max-errors': `${(part / 10 ** places).toFixed(places)}%` } });
        expect([0, 1].map((more) => code(limits.maxErrors, whole * times, part * times + more))).toEqual([0, 1]);
      }),
    );
  });

  it('is 0 when nothing failed, of nothing as well', () => {
    fc.assert(fc.property(fc.oneof(fc.record({ count: n }), fc.record({ share: fc.double({ min: 0, max: 1, noNaN: true }) })), n, (maxErrors, total) => code(maxErrors, total, 0) === 0));
  });
});

describe('whether a job may go on', () => {
  const job = (fingerprint: Record<string, unknown>, limit: number | null = null) => ({ fingerprint, limits: { limit } as CompiledJob['limits'] });
  const found = (fingerprint: Record<string, unknown>, state: 'running' | 'stopped' | 'finishing' | 'finished' = 'stopped', limit: number | null = null) => ({ fingerprint, state, limit, retry: null, answered: true, totals: { credits: 0, lookups: { unique: 0 } } });
  const DATED = { 'input.uri': ['in-1.csv'], [WRITTEN_INPUT]: ['in-{date}.csv'], steps: ['enrich'] };

  it('it does when nothing is different, and a difference names its key', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), fc.string({ minLength: 1 }), (fingerprint, key) => {
        expect(changedDefinition(job(fingerprint), found(JSON.parse(JSON.stringify(fingerprint)) as Record<string, unknown>))).toBeNull();
        if (key === '__proto__' || key === WRITTEN_INPUT) return;
        expect(changedDefinition(job({ ...fingerprint, [key]: 'new' }), found({ ...fingerprint, [key]: 'old' }))).toBe(`${key} was "old" and is now "new"`);
      }),
    );
  });

  it('a limit can be raised or dropped, and not lowered or set', () => {
    const limit = fc.option(fc.integer({ min: 1, max: 1_000 }));
    fc.assert(
      fc.property(limit, limit, (before, now) => {
        const sentence = changedDefinition(job({}, now), found({}, 'stopped', before));
        if ((now ?? Infinity) >= (before ?? Infinity)) expect(sentence).toBeNull();
        else expect(sentence).toBe(`limits.limit was ${before ?? 'not set'} and is now ${now}; it can only be raised`);
      }),
    );
  });

  it('the address of the service may be corrected until the job has an answer, and nothing else may', () => {
    const typed = { 'service.baseUrl': 'https://api.exmaple.com', 'service.embedded': false, 'service.fields.domain': 'domain', steps: ['enrich'] };
    const none = { answered: false, totals: { credits: 0, lookups: { unique: 0 } } };
    for (const change of [{ 'service.baseUrl': 'https://api.example.com' }, { 'service.baseUrl': null, 'service.embedded': true }, { 'service.fields.domain': 'website' }]) {
      const now = job({ ...typed, ...change });
      for (const state of ['running', 'stopped', 'finished'] as const) expect(changedDefinition(now, { ...found(typed, state), ...none })).toBeNull();
      for (const told of [{ ...none, answered: true }, { ...none, totals: { ...none.totals, credits: 1 } }, { ...none, totals: { ...none.totals, lookups: { unique: 1 } } }]) {
        expect(changedDefinition(now, { ...found(typed), ...told })).toContain(Object.keys(change)[0]);
      }
    }
    expect(changedDefinition(job({ ...typed, steps: ['verify'] }), { ...found(typed), ...none })).toContain('steps was');
  });

  it('another day is another job while it runs, and only another input once it is finished', () => {
    const tomorrow = { ...DATED, 'input.uri': ['in-2.csv'] };
    for (const state of ['running', 'stopped'] as const) expect(changedDefinition(job(tomorrow), found(DATED, state))).toContain('input.uri was ["in-1.csv"]');
    for (const state of ['finishing', 'finished'] as const) {
      expect(changedDefinition(job(tomorrow), found(DATED, state))).toBeNull();
      expect(changedDefinition(job({ ...tomorrow, [WRITTEN_INPUT]: ['in-2.csv'] }), found(DATED, state))).toContain('input.uri was');
      expect(changedDefinition(job({ ...tomorrow, steps: ['verify'] }), found(DATED, state))).toContain('steps was');
    }
  });
});

describe('a line of the errors file', () => {
  const manifest = { ...manifestOf(['email']), files: [{ uri: 'a.csv' }] as never };

  it('is for failed and invalid records alone', () => {
    for (const outcome of ['matched', 'no_match', 'suppressed'] as const) expect(errorLine(manifest, csvRecord(['x']), { ...invalid('x'), outcome })).toBeNull();
    expect(errorLine(manifest, csvRecord(['x']), invalid('bad_email'))).toBe('{"file":"a.csv","line":2,"step":null,"key":null,"code":"bad_email","attempts":0,"requestId":null}');
  });

  it('says which call failed, and holds a line that could not be read as it stands', () => {
    const failure = { step: 'verify', key: 'a@b.example', code: 'http_500', attempts: 5, requestId: 'r' } as const;
    expect(JSON.parse(errorLine(manifest, jsonRecord('"{\\"x"', 'no JSON', '{"x\u0007'), { ...invalid('x'), outcome: 'failed', failure }) ?? '')).toEqual({ file: 'a.csv', line: 2, ...failure, raw: '{"x\u0007' });
  });

  it('is one line whatever is in it', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (raw) => errorLine(manifest, { ...csvRecord([]), raw }, invalid('bad_row'))?.includes('\n') === false));
  });
});

describe('what is kept of the service in ledger entries', () => {
  const origin = (baseUrl: string | null): string => serviceOrigin({ service: { baseUrl } } as CompiledJob);

  it('is its origin: no path, no name of a user', () => {
    expect(origin('https://user:pass@API.example.com:443/eu/v2')).toBe('https://api.example.com');
    expect(origin('http://127.0.0.1:8080')).toBe('http://127.0.0.1:8080');
    expect(origin(null)).toBe('embedded');
  });
});

describe('the size of a record', () => {
  it('grows with each character of it, and is never nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 10 }), fc.string(), (values, more) => {
        const size = sizeOf(csvRecord(values));
        expect(size).toBeGreaterThan(0);
        expect(sizeOf(csvRecord([...values, '']))).toBeGreaterThan(size);
        expect(sizeOf(csvRecord([...values, more])) - sizeOf(csvRecord([...values, '']))).toBe(more.length);
        expect(sizeOf(jsonRecord(more)) - sizeOf(jsonRecord(''))).toBe(more.length);
      }),
    );
  });
});

describe('numbers and times in words', () => {
  it('count', () => {
    expect([0, 999, 1_000, 1_234_567].map(count)).toEqual(['0', '999', '1,000', '1,234,567']);
  });

  it('duration', () => {
    expect([0, 1, 1_000, 59_001, 59_999, 60_000, 185_000, 3_599_001, 3_600_000, 7_800_000, 360_000_000].map(duration)).toEqual(['0 s', '1 s', '1 s', '1 min 0 s', '1 min 0 s', '1 min 0 s', '3 min 5 s', '1 h 0 min', '1 h 0 min', '2 h 10 min', '100 h 0 min']);
  });
});
