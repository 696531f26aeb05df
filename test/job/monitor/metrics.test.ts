/** The metrics of the providers that a job names. */
import { RecordsOnTheWay } from '../../../src/job/run/on-the-way.ts';
import { expect, test } from 'vitest';
import { METRICS } from '../../../src/job/monitor/metrics.ts';
import { viewsOf, type RunView } from '../../../src/job/monitor/run-view.ts';
import { Meter } from '../../../src/job/run/meter.ts';
import type { ProviderView } from '../../../src/job/run/channel-views.ts';
import type { WatchedRun } from '../../../src/job/progress/snapshot.ts';
import { Counters } from '../../../src/job/run/counters.ts';
import { NO_TOTALS } from '../../../src/checkpoint/run-totals.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';
import { EMPTY_TALLY, type Tally } from '../../../src/writer/tally.ts';
import { PROVIDERS_JOB } from '../../support/provider-report.ts';

interface Made {
  readonly meter: Meter;
  credits: number;
}

const counters = (credits: number): Made => ({ meter: new Meter(), credits });
const provider = (name: string, made: Made, more: Partial<ProviderView> = {}): ProviderView => ({
  name,
  counters: made,
  skipped: null,
  outageMs: 0,
  ...more,
});

/** A run that has just begun. */
function view(providers: readonly ProviderView[] | undefined, tally: Tally = EMPTY_TALLY): () => RunView {
  const parts = {
    job: PROVIDERS_JOB,
    checkpoint: CHECKPOINT,
    resumed: true,
    limiter: { throttledMs: () => 0, pausedMs: () => 0, burst: 0, stated: null },
    pool: { outage: null, concurrency: 1, inFlight: 0, waiting: 0 },
    loop: { lastStarted: null, lastWritten: null, hasReadAll: false, inProgress: 0, onTheWay: new RecordsOnTheWay(), oldestMs: 0 },
    writer: { tally },
    checkpoints: { lastSaved: null },
    counters: new Counters(NO_TOTALS, () => 0),
    ...(providers === undefined ? {} : { providers }),
  } as unknown as WatchedRun;
  return viewsOf(
    parts,
    () => 0,
    () => 0,
  );
}

const samples = (now: RunView, name: string): unknown => METRICS[name]?.of?.(now);

test('the metrics of each provider count its requests and credits of this execution, and say whether it is asked', () => {
  const alpha = counters(1_000);
  const beta = counters(0);
  const look = view([provider('alpha', alpha), provider('beta', beta, { skipped: 'down', outageMs: 2_500 })]);
  alpha.meter.answered('enrich', { status: 200, latencyMs: 5 });
  alpha.meter.answered('enrich', { status: 200, latencyMs: 5 });
  alpha.meter.answered('verify', { status: 0, latencyMs: 5 });
  alpha.credits += 7;
  const now = look();
  expect(samples(now, 'millrace_provider_requests_total')).toEqual([
    { labels: { provider: 'alpha', step: 'enrich', code: '200' }, value: 2 },
    { labels: { provider: 'alpha', step: 'verify', code: 'none' }, value: 1 },
  ]);
  expect(samples(now, 'millrace_provider_skipped')).toContainEqual({ labels: { provider: 'beta' }, value: 1 });
  expect(
    ['credits_total', 'outage_seconds', 'skipped'].map((name) =>
      (samples(now, `millrace_provider_${name}`) as { value: number }[]).map(({ value }) => value),
    ),
  ).toEqual([
    [7, 0],
    [0, 2.5],
    [0, 1],
  ]);
});

test('the match ratio has a sample for people and for companies, as far as some were answered', () => {
  const outcomes = { ...EMPTY_TALLY.outcomes, matched: 12, no_match: 8, failed: 5 };
  const ratio = (tally: Partial<Tally>): unknown => samples(view(undefined, { ...EMPTY_TALLY, ...tally })(), 'millrace_match_ratio');
  expect(ratio({ outcomes, companies: { matched: 9, no_match: 1 } })).toEqual([
    { labels: { kind: 'people' }, value: 0.3 },
    { labels: { kind: 'companies' }, value: 0.9 },
  ]);
  expect(ratio({ outcomes })).toEqual([{ labels: { kind: 'people' }, value: 0.6 }]);
  expect(ratio({})).toEqual([]);
});

test('a job with one service has no metric of a provider', () => {
  const now = view(undefined)();
  for (const name of Object.keys(METRICS).filter((one) => one.startsWith('millrace_provider_'))) expect(samples(now, name)).toEqual([]);
});
