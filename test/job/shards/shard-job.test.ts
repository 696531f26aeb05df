import * as fc from '../../support/fast-check.ts';
import { expect, test } from 'vitest';
import { ownRpm, ownWindows, shardJob } from '../../../src/job/shards/shard-job.ts';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import { compiled, LEAST } from '../../definition/support.ts';

const counts = fc.array(fc.nat({ max: 1_000_000 }), { minLength: 2, maxLength: 20 });

function shardsOf(job: CompiledJob, records: readonly number[]): CompiledJob[] {
  const ranges = records.map((count, i) => ({ from: null, before: records.slice(0, i).reduce((sum, n) => sum + n, 0), records: count }));
  return records.map((_, index) => shardJob(job, { of: records.length, ranges }, index));
}

test('the limits of the shards add up to those of the job', () => {
  fc.assert(
    fc.property(
      counts,
      fc.option(fc.nat({ max: 3_000_000 })),
      fc.option(fc.nat({ max: 10_000_000 })),
      fc.option(fc.integer({ min: 100, max: 10_000 })),
      (records, limit, maxCalls, rpm) => {
        const job = compiled({ flags: LEAST });
        const all = records.reduce((sum, n) => sum + n, 0);
        const shards = shardsOf({ ...job, limits: { ...job.limits, limit, maxCalls } }, records);
        const sum = (of: (shard: CompiledJob) => number | null): number => shards.reduce((total, shard) => total + (of(shard) ?? 0), 0);
        expect(sum(({ limits }) => limits.limit)).toBe(Math.min(all, limit ?? Infinity));
        expect(shards.every(({ limits }, i) => (limits.limit ?? Infinity) <= (records[i] ?? 0))).toBe(true);
        if (maxCalls === null) expect(shards.every(({ limits }) => limits.maxCalls === null)).toBe(true);
        else expect(sum(({ limits }) => limits.maxCalls)).toBe(Math.min(all, limit ?? Infinity) === 0 ? 0 : maxCalls);
        const own = shards.map((_, index) =>
          ownRpm({ rpm, isShared: false }, { shard: { index, of: shards.length, from: null, before: 0, records: 0 } }),
        );
        if (rpm === null) expect(own.every((part) => part === null)).toBe(true);
        else expect(own.reduce<number>((total, part) => total + (part ?? 0), 0)).toBeLessThanOrEqual(rpm);
      },
    ),
  );
});

test('each shard has its own files and the shared ledger, and accepts any number of failures', () => {
  const [first, second] = shardsOf(compiled({ flags: { ...LEAST, 'max-errors': '1' } }), [10, 10]);
  expect(first).toMatchObject({
    output: { uri: 'out/leads.jsonl.gz.shard-0-of-2', format: 'jsonl', compression: 'gzip' },
    checkpoint: { uri: 'out/leads.jsonl.gz.checkpoint.json.shard-0-of-2' },
    ledger: { uri: 'out/leads.jsonl.gz.ledger' },
    limits: { maxErrors: { share: 1 } },
  });
  expect(second?.output.uri).toBe('out/leads.jsonl.gz.shard-1-of-2');
});

test('the rate of a shard is its part of the plan, unless a shared quota divides the plan', () => {
  const pace = { rpm: 1_000, isShared: false };
  const shard = { index: 0, of: 4, from: null, before: 0, records: 0 };
  expect(ownRpm(pace, { shard: null })).toBe(1_000);
  expect(ownRpm(pace, { shard })).toBe(250);
  expect(ownRpm({ ...pace, isShared: true }, { shard })).toBe(1_000);
});

test('a shard keeps to its part of a stated window: no other shard counts what it sends', () => {
  const windows = [
    { limit: 50, periodMs: 1_000 },
    { limit: 300, periodMs: 86_400_000 },
  ];
  const shard = { index: 1, of: 4, from: null, before: 0, records: 0 };
  expect(ownWindows({ windows }, { shard }).map(({ limit }) => limit)).toEqual([12, 75]);
  expect(ownWindows({ windows }, { shard: null })).toEqual(windows);
});
