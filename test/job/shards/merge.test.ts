import * as fc from '../../support/fast-check.ts';
import { expect, test } from 'vitest';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint-file.ts';
import { NEW_PROVIDER, type ProviderState } from '../../../src/checkpoint/provider-state.ts';
import { NO_TOTALS } from '../../../src/checkpoint/run-totals.ts';
import type { SavedQuota } from '../../../src/limiter/saved-quota.ts';
import { jobPaths } from '../../../src/job/lifecycle/paths.ts';
import { buildReport } from '../../../src/job/report/report.ts';
import { joinedCheckpoint } from '../../../src/job/shards/merge.ts';
import type { ShardPlan } from '../../../src/job/shards/shard-plan.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';
import { compiled, LEAST } from '../../definition/support.ts';

const JOB = compiled({ flags: LEAST });
const n = fc.nat({ max: 1_000_000 });
const shard: fc.Arbitrary<Checkpoint> = fc
  .record({
    matched: n,
    failed: n,
    enrich: n,
    unique: n,
    retries: n,
    events: n,
    waitedMs: n,
    credits: n,
    activeMs: n,
    bucket: n,
    callsAtMost: n,
    spent: fc.option(
      fc.record(
        { minute: fc.array(fc.tuple(n, n), { maxLength: 4 }), savedAtMs: n, later: fc.record({ untilMs: n, forMs: n }) },
        { requiredKeys: ['minute', 'savedAtMs'] },
      ),
    ),
  })
  .map(({ matched, failed, enrich, unique, retries, events, waitedMs, credits, activeMs, bucket, callsAtMost, spent }) => ({
    ...CHECKPOINT,
    mark: {
      ...CHECKPOINT.mark,
      tally: { ...CHECKPOINT.mark.tally, total: matched + failed, outcomes: { ...CHECKPOINT.mark.tally.outcomes, matched, failed } },
    },
    totals: {
      calls: { enrich },
      lookups: { unique, fromLedger: 0 },
      retries,
      throttled: { events, waitedMs },
      beyondPlan: 0,
      waits: { count: 1, ms: waitedMs, reasons: { quota: waitedMs }, list: [] },
      credits,
      latency: { 7: bucket },
      activeMs,
      series: { widthMs: 1_000, slots: [[1_700_000_000, enrich, 1, waitedMs, 0]] },
    },
    callsAtMost,
    spent,
  }));

test("the merged report has the sums of the shards' numbers", () => {
  fc.assert(
    fc.property(fc.array(shard, { minLength: 2, maxLength: 6 }), (shards) => {
      const plan: ShardPlan = {
        version: 1,
        job: 'leads',
        output: '/out',
        fingerprint: {},
        generation: 3,
        run: 'all',
        of: shards.length,
        startedAt: '2026-03-01T00:00:00.000Z',
        manifest: CHECKPOINT.manifest,
        ranges: [],
      };
      const joined = joinedCheckpoint(JOB, jobPaths(JOB, { scratch: null }), plan, shards);
      const sum = (of: (one: Checkpoint) => number): number => shards.reduce((total, one) => total + of(one), 0);
      expect(joined).toMatchObject({
        run: 'all',
        generation: 3,
        shard: null,
        retry: null,
        callsAtMost: sum(({ callsAtMost }) => callsAtMost),
      });
      expect(joined.mark.tally).toMatchObject({
        total: sum(({ mark }) => mark.tally.total),
        outcomes: { failed: sum(({ mark }) => mark.tally.outcomes.failed) },
      });
      const { calls, retries, throttled, credits, latency, lookups } = joined.totals;
      expect({ calls, retries, throttled, credits, latency }).toEqual({
        calls: { enrich: sum(({ totals }) => totals.calls['enrich'] ?? 0) },
        retries: sum(({ totals }) => totals.retries),
        throttled: { events: sum(({ totals }) => totals.throttled.events), waitedMs: sum(({ totals }) => totals.throttled.waitedMs) },
        credits: sum(({ totals }) => totals.credits),
        latency: { 7: sum(({ totals }) => totals.latency['7'] ?? 0) },
      });
      expect(joined.totals.waits).toEqual({
        count: shards.length,
        ms: sum(({ totals }) => totals.throttled.waitedMs),
        reasons: { quota: sum(({ totals }) => totals.throttled.waitedMs) },
        list: [],
      });
      // All shards at once.
      expect(joined.totals.series).toEqual({
        widthMs: 1_000,
        slots: [
          [
            1_700_000_000,
            sum(({ totals }) => totals.calls['enrich'] ?? 0),
            shards.length,
            sum(({ totals }) => totals.throttled.waitedMs),
            0,
          ],
        ],
      });
      expect(lookups.unique).toBe(sum(({ totals }) => totals.lookups.unique));
      expect(joined.spent?.later?.untilMs).toBe(
        shards.flatMap(({ spent }) => spent?.later?.untilMs ?? []).sort((one, other) => other - one)[0],
      );
      const callsOf = ({ spent }: Checkpoint): number => (spent?.minute ?? []).reduce((total, [, calls]) => total + calls, 0);
      expect(callsOf(joined)).toBe(sum(callsOf));
    }),
  );
});

test('the merged quota share is the calls of all shards divided by the sum of their shares', () => {
  const one: Checkpoint = { ...CHECKPOINT, totals: { ...CHECKPOINT.totals, calls: { enrich: 400 }, activeMs: 120_000 } };
  const plan: ShardPlan = {
    version: 1,
    job: 'leads',
    output: '/out',
    fingerprint: {},
    generation: 1,
    run: 'all',
    of: 4,
    startedAt: '2026-03-01T00:00:00.000Z',
    manifest: CHECKPOINT.manifest,
    ranges: [],
  };
  const joined = joinedCheckpoint(JOB, jobPaths(JOB, { scratch: null }), plan, [one, one, one, one]);
  expect(buildReport(joined, JOB, 1_000).quota).toMatchObject({ rpm: 1_000, usedShare: 0.8 });
});

test('the merged report has the smallest size of verify requests, and the sum of those that were too large', () => {
  const requests = [
    { size: 1_000, most: null, tooLarge: 0 },
    { size: 250, most: 8, tooLarge: 2 },
    { size: 500, most: 4, tooLarge: 1 },
  ];
  const plan: ShardPlan = {
    version: 1,
    job: 'leads',
    output: '/out',
    fingerprint: {},
    generation: 1,
    run: 'all',
    of: 3,
    startedAt: '2026-03-01T00:00:00.000Z',
    manifest: CHECKPOINT.manifest,
    ranges: [],
  };
  const joined = joinedCheckpoint(
    JOB,
    jobPaths(JOB, { scratch: null }),
    plan,
    requests.map((verifyRequests) => ({ ...CHECKPOINT, totals: { ...CHECKPOINT.totals, verifyRequests } })),
  );
  expect(joined.totals.verifyRequests).toEqual({ size: 250, most: 4, tooLarge: 3 });
});

test("the merged state of a provider has the sums of the shards' states and of the run before", () => {
  const state = (more: Partial<ProviderState>): ProviderState => ({ ...NEW_PROVIDER, ...more });
  const quota = (ends: number, left: number): SavedQuota => ({
    minute: [[ends, 2]],
    savedAtMs: ends,
    windows: [{ periodMs: 3_600_000, limit: 50, left, resetAtMs: 9_000_000, spent: [[ends, left]] }],
  });
  const totals = (credits: number): ProviderState['totals'] => ({
    ...NO_TOTALS,
    calls: { enrich: credits },
    credits,
    creditsBy: { enrich: credits },
  });
  const plan: ShardPlan = {
    version: 2,
    job: 'leads',
    output: '/out',
    fingerprint: {},
    generation: 1,
    run: 'all',
    of: 2,
    startedAt: '2026-03-01T00:00:00.000Z',
    manifest: CHECKPOINT.manifest,
    ranges: [],
    before: { ...CHECKPOINT, providers: { pdl: state({ totals: totals(5), callsAtMost: 5, creditsAtMost: 5, trusted: true }) } },
  };
  const shards = [
    { pdl: state({ totals: totals(2), callsAtMost: 3, creditsAtMost: 4, spent: { enrich: quota(1_000, 7) }, missForms: ['a'] }) },
    { pdl: state({ totals: totals(1), callsAtMost: 1, creditsAtMost: 1, spent: { enrich: quota(2_000, 6) }, skipped: 'it is down' }) },
  ].map((providers): Checkpoint => ({ ...CHECKPOINT, providers }));
  const { providers } = joinedCheckpoint(JOB, jobPaths(JOB, { scratch: null }), plan, shards);
  expect(providers?.['pdl']).toMatchObject({
    trusted: true,
    answered: false,
    missForms: ['a'],
    skipped: 'it is down',
    callsAtMost: 9,
    creditsAtMost: 10,
    totals: { calls: { enrich: 8 }, credits: 8, creditsBy: { enrich: 8 } },
    spent: {
      enrich: {
        minute: [
          [1_000, 2],
          [2_000, 2],
        ],
        windows: [{ periodMs: 3_600_000, limit: 50, left: 6, resetAtMs: 9_000_000, spent: [[2_000, 13]] }],
      },
    },
  });
});
