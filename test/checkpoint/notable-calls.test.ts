import { describe, expect, it } from 'vitest';
import * as fc from '../support/fast-check.ts';
import { addNotableCalls, MOST_NOTED, NotableCallLog } from '../../src/checkpoint/notable-calls.ts';
import type { CallResult } from '../../src/client/types.ts';
import type { SentCall } from '../../src/pool/call-pool-options.ts';

const call = (line: number, slowestMs: number, attempt = 1): SentCall => ({
  step: 'enrich',
  keys: 1,
  origin: { file: 0, line },
  attempt,
  slowestMs,
});
const meta = (latencyMs: number): CallResult<never>['meta'] => ({
  status: 200,
  headers: {},
  quota: null,
  requestId: `r${latencyMs}`,
  credits: 0,
  latencyMs,
});
const found = (latencyMs: number): CallResult<unknown> => ({ kind: 'ok', value: null, meta: meta(latencyMs) });
const failed = (latencyMs: number, code = 'timeout'): CallResult<unknown> => ({
  kind: 'retryable',
  code,
  detail: '',
  retryAfterMs: null,
  meta: meta(latencyMs),
});

describe('the log of notable calls', () => {
  it('has the slowest lookups and those sent most often, over any number of resumes', () => {
    const attempts = fc.array(fc.record({ line: fc.nat({ max: 60 }), latencyMs: fc.integer({ min: 1, max: 1_000 }) }), { maxLength: 200 });
    fc.assert(
      fc.property(fc.array(attempts, { minLength: 1, maxLength: 3 }), (runs) => {
        const [times, slowest] = [new Map<number, number>(), new Map<number, number>()];
        let log = new NotableCallLog();
        for (const run of runs) {
          log = new NotableCallLog(JSON.parse(JSON.stringify(log)) as ReturnType<NotableCallLog['toJSON']>);
          for (const { line, latencyMs } of run) {
            times.set(line, (times.get(line) ?? 0) + 1);
            slowest.set(line, Math.max(slowest.get(line) ?? 0, latencyMs));
            log.answered(call(line, slowest.get(line) ?? 0, times.get(line)), failed(latencyMs));
          }
        }
        const most = (counts: Iterable<number>): number[] => [...counts].sort((one, other) => other - one).slice(0, MOST_NOTED);
        const { slowest: slow, mostRetried } = log.toJSON();
        expect(slow.map(({ latencyMs }) => latencyMs)).toEqual(most(slowest.values()));
        expect(mostRetried.map(({ sent }) => sent)).toEqual(most([...times.values()].filter((sent) => sent > 1)));
        for (const { line, latencyMs } of slow) expect(latencyMs).toBe(slowest.get(line));
        for (const { line, sent } of mostRetried) expect(sent).toBe(times.get(line));
      }),
    );
  });

  it('says where a record is, how its last attempt ended, and holds nothing else about it', () => {
    const log = new NotableCallLog();
    log.answered(call(7, 30_000.04), failed(30_000.04));
    expect(log.toJSON()).toMatchObject({ slowest: [{ sent: 1, code: 'timeout', requestId: 'r30000.04' }], mostRetried: [] });
    log.answered(call(7, 30_000.04, 2), found(20));
    const noted = { file: 0, line: 7, step: 'enrich', keys: 1, latencyMs: 30_000, sent: 2, code: null, requestId: 'r20' };
    expect(log.toJSON()).toEqual({ slowest: [noted], mostRetried: [noted] });
  });

  it('leaves out keys of the command line, and attempts that this run has cancelled', () => {
    const log = new NotableCallLog();
    log.answered({ ...call(1, 500, 3), origin: null }, found(500));
    log.answered(call(1, 500, 3), failed(500, 'aborted'));
    expect(log.toJSON()).toEqual({ slowest: [], mostRetried: [] });
  });

  it('names a throttled attempt by its status', () => {
    const log = new NotableCallLog();
    log.answered(call(1, 5), { kind: 'throttled', retryAfterMs: null, meta: { ...meta(5), status: 429 } });
    expect(log.toJSON().slowest).toMatchObject([{ code: 'http_429' }]);
  });

  it('adds the lists of shards', () => {
    const logs = [10, 400, 30].map((start) => {
      const log = new NotableCallLog();
      for (let i = 0; i < MOST_NOTED; i++) log.answered(call(i, start + i, 2 + i), found(start + i));
      return log.toJSON();
    });
    const { slowest, mostRetried } = addNotableCalls(logs);
    expect(slowest.map(({ latencyMs }) => latencyMs)).toEqual(Array.from({ length: MOST_NOTED }, (_, i) => 419 - i));
    expect(mostRetried).toHaveLength(MOST_NOTED);
    expect(mostRetried[0]).toMatchObject({ sent: 21, latencyMs: 419 });
  });
});
