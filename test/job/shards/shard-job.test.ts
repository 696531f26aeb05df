import * as fc from '../../support/fast-check.ts';
import { expect, test } from 'vitest';
import { ownRpm, ownWindows, refuseUnsharable, shardJob } from '../../../src/job/shards/shard-job.ts';
import { NEW_PROVIDER } from '../../../src/checkpoint/provider-state.ts';
import type { CompiledJob, JobProvider } from '../../../src/definition/compiled-job.ts';
import { EXIT } from '../../../src/util/errors.ts';
import { compiled, LEAST, refusalOf } from '../../definition/support.ts';

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
  expect(ownWindows({ windows, isShared: false }, { shard }).map(({ limit }) => limit)).toEqual([12, 75]);
  expect(ownWindows({ windows, isShared: false }, { shard: null })).toEqual(windows);
  // Pods share what is over within a minute.
  expect(ownWindows({ windows, isShared: true }, { shard }).map(({ limit }) => limit)).toEqual([50, 75]);
});

test("the shards' limits of each provider add up to what the provider may still cost", () => {
  fc.assert(
    fc.property(counts, fc.nat({ max: 100_000 }), fc.nat({ max: 100_000 }), (records, maxCredits, spent) => {
      const job = compiled({ flags: LEAST });
      const providers = job.providers.map((provider) => ({ ...provider, maxCredits }));
      const ranges = records.map((count, i) => ({
        from: null,
        before: records.slice(0, i).reduce((sum, n) => sum + n, 0),
        records: count,
      }));
      const before = {
        callsAtMost: 0,
        creditsAtMost: 0,
        providers: Object.fromEntries(providers.map(({ name }) => [name, { ...NEW_PROVIDER, creditsAtMost: spent }])),
      };
      const shares = records.map(
        (_, index) => shardJob({ ...job, providers }, { of: records.length, ranges, before }, index).providers[0]?.maxCredits ?? Infinity,
      );
      const isEmpty = records.every((count) => count === 0);
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(isEmpty ? 0 : Math.max(0, maxCredits - spent));
    }),
  );
});

test('more shards than a window permits requests are refused, unless they share it', () => {
  const SECOND = { limit: 8, periodMs: 1_000 };
  const MINUTE = { limit: 3, periodMs: 60_000 };
  const job = compiled({ flags: LEAST });
  const withProvider = (more: Partial<JobProvider>): CompiledJob => ({
    ...job,
    namesProviders: true,
    providers: job.providers.map((provider) => ({ ...provider, name: 'slow', ...more })),
    waterfalls: Object.fromEntries(Object.entries(job.waterfalls).map(([step, rule]) => [step, { ...rule, from: ['slow'] }])),
  });
  const refusal = (more: Partial<JobProvider>, of: number): unknown => refusalOf(() => refuseUnsharable(withProvider(more), of));
  expect(refusal({ windows: [SECOND, { limit: 600, periodMs: 60_000 }] }, 9)).toMatchObject({
    exitCode: EXIT.config,
    code: 'not_in_shards',
    message: 'The provider slow has a quota of 8 requests a second, which 9 shards cannot divide',
  });
  expect(refusal({ windows: [MINUTE] }, 4)).toMatchObject({ hint: expect.stringContaining('share the quota through Redis') });
  refuseUnsharable(withProvider({ windows: [SECOND] }), 8);
  refuseUnsharable(withProvider({ windows: [SECOND], quota: 'redis://127.0.0.1:1/0' }), 9);
  refuseUnsharable(withProvider({ windows: [MINUTE], quota: 'redis://127.0.0.1:1/0' }), 4);
  expect(refusalOf(() => refuseUnsharable(compiled({ flags: { ...LEAST, rpm: '3' } }), 4))).toMatchObject({
    message: 'The service has a quota of 3 requests a minute, which 4 shards cannot divide',
  });
});
