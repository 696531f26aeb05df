/** The metrics of `/metrics`, by name. A test compares `docs/monitoring.md`, the dashboard and the alerts with this table. */
import type { StepMeter } from '../run/meter.ts';
import { answeredKinds, kindRates } from '../../writer/rates.ts';
import { histogram, type Family, type MetricSample } from '../../telemetry/prometheus-text.ts';
import { WAIT_REASONS, type WaitReason } from '../../util/waits.ts';
import { PROCESS_METRICS, processSamples } from '../../telemetry/process-metrics.ts';
import type { RunView } from './run-view.ts';

interface Metric {
  readonly type: Family['type'];
  readonly help: string;
  /** Present once a run has begun; left out for metrics that the process has from its start. */
  readonly of?: (view: RunView) => readonly MetricSample[];
}

const codeOf = (status: number): string => (status === 0 ? 'none' : String(status));

const one = (value: number | null): readonly MetricSample[] => (value === null ? [] : [{ value }]);

const bySteps = (view: RunView, samples: (step: string, meter: StepMeter) => readonly MetricSample[]): readonly MetricSample[] =>
  [...view.meter.steps].flatMap(([step, meter]) => samples(step, meter));

const byProviders = (view: RunView, valueOf: (provider: RunView['providers'][number]) => number): readonly MetricSample[] =>
  view.providers.map((provider) => ({ labels: { provider: provider.name }, value: valueOf(provider) }));

const heldUpSamples = (waitsFor: WaitReason | null): readonly MetricSample[] =>
  WAIT_REASONS.map((by) => ({ labels: { by }, value: waitsFor === by ? 1 : 0 }));

export const METRICS: Readonly<Record<string, Metric>> = {
  ...PROCESS_METRICS,
  millrace_job_info: { type: 'gauge', help: 'Always 1; the label says which job.' },
  millrace_records_total: {
    type: 'counter',
    help: 'Rows written to the output, by outcome.',
    of: ({ meter }) => Object.entries(meter.rows).map(([outcome, value]) => ({ labels: { outcome }, value })),
  },
  millrace_match_ratio: {
    type: 'gauge',
    help: 'Share of the answered records that are matched, of people and of companies, over all resumes; absent until one is answered.',
    of: ({ snapshot }) => kindRates(answeredKinds(snapshot.tally)).map(({ kind, rate }) => ({ labels: { kind }, value: rate })),
  },
  millrace_requests_total: {
    type: 'counter',
    help: 'Requests by step and HTTP status; code "none": no answer came.',
    of: (view) =>
      bySteps(view, (step, { answers }) => [...answers].map(([status, value]) => ({ labels: { step, code: codeOf(status) }, value }))),
  },
  millrace_request_duration_seconds: {
    type: 'histogram',
    help: 'Time from sending a request to its whole answer.',
    of: (view) => bySteps(view, (step, { latency }) => histogram({ step }, latency.bounds, latency.counts, latency.sumS)),
  },
  millrace_retries_total: {
    type: 'counter',
    help: 'Failed attempts that are made again.',
    of: (view) => bySteps(view, (step, { retries }) => [{ labels: { step }, value: retries }]),
  },
  millrace_verify_request_addresses: {
    type: 'gauge',
    help: 'Addresses in a full verify request now; absent until one was answered.',
    of: ({ verify }) => one(verify.addresses),
  },
  millrace_verify_requests_too_large_total: {
    type: 'counter',
    help: 'Verify requests that ran into the time limit, or were refused as too large.',
    of: ({ verify }) => one(verify.tooLarge),
  },
  millrace_throttled_total: {
    type: 'counter',
    help: 'Times that the service said "later" and everything waited.',
    of: ({ throttled }) => one(throttled.events),
  },
  millrace_throttled_seconds_total: {
    type: 'counter',
    help: 'Time waited because the service said "later".',
    of: ({ throttled }) => one(throttled.waitedMs / 1_000),
  },
  millrace_credits_total: { type: 'counter', help: 'Credits that the service says it has charged.', of: ({ credits }) => one(credits) },
  millrace_requests_in_flight: {
    type: 'gauge',
    help: 'Requests that were sent and are not answered.',
    of: ({ pool }) => one(pool.inFlight),
  },
  millrace_requests_waiting: {
    type: 'gauge',
    help: 'Requests that wait for a free slot or a permit of the quota.',
    of: ({ pool }) => one(pool.waiting),
  },
  millrace_requests_in_flight_limit: {
    type: 'gauge',
    help: 'How many requests may be in flight at once.',
    of: ({ pool }) => one(pool.concurrency),
  },
  millrace_plan_requests_per_minute: {
    type: 'gauge',
    help: 'Requests a minute that the whole plan allows, of a shard too; absent when it is unlimited.',
    of: ({ rpm }) => one(rpm),
  },
  millrace_quota_limit: {
    type: 'gauge',
    help: 'The quota that the service stated last; absent while it states none.',
    of: ({ quota }) => one(quota.limit),
  },
  millrace_quota_remaining: { type: 'gauge', help: 'What was left of it by the same answer.', of: ({ quota }) => one(quota.remaining) },
  millrace_held_up: {
    type: 'gauge',
    help: '1 while nothing is sent, by what is waited for.',
    of: ({ heldUp }) => heldUpSamples(heldUp?.by ?? null),
  },
  millrace_held_up_seconds: {
    type: 'gauge',
    help: 'How long nothing was sent, once that is five seconds; else 0.',
    of: ({ heldUp }) => one((heldUp?.forMs ?? 0) / 1_000),
  },
  millrace_held_up_until_timestamp_seconds: {
    type: 'gauge',
    help: 'When what is waited for ends, Unix time; absent while nothing is, or nobody knows.',
    of: ({ heldUpUntilMs }) => one(heldUpUntilMs === null ? null : heldUpUntilMs / 1_000),
  },
  millrace_waited_seconds_total: {
    type: 'counter',
    help: 'Time during which nothing was sent for five seconds or more, by what was waited for.',
    of: ({ waited }) => WAIT_REASONS.map((by) => ({ labels: { by }, value: (waited[by] ?? 0) / 1_000 })),
  },
  millrace_outage_seconds: {
    type: 'gauge',
    help: 'How long the service has been down; 0 while it is not.',
    of: ({ pool }) => one((pool.outage?.forMs ?? 0) / 1_000),
  },
  millrace_lag_records: { type: 'gauge', help: 'Records that were read and are not written.', of: ({ lag }) => one(lag.records) },
  millrace_lag_oldest_seconds: {
    type: 'gauge',
    help: 'How long ago the oldest of them was read.',
    of: ({ lag }) => one(lag.oldestMs / 1_000),
  },
  millrace_checkpoint_age_seconds: {
    type: 'gauge',
    help: 'Time since the last durable checkpoint: what a crash would repeat. Absent where there is none.',
    of: ({ checkpointAgeMs }) => one(checkpointAgeMs === null ? null : checkpointAgeMs / 1_000),
  },
  millrace_progress_ratio: {
    type: 'gauge',
    help: 'Share of the records of the job that are written, 0 to 1.',
    of: ({ snapshot }) => one(snapshot.share),
  },
  millrace_input_bytes_total: {
    type: 'counter',
    help: 'Bytes of the input files that were read; of a single-member archive all at once, when it is through.',
    of: ({ bytes }) => one(bytes.read),
  },
  millrace_output_bytes_total: {
    type: 'counter',
    help: 'Bytes of the output file that are durable.',
    of: ({ bytes }) => one(bytes.written),
  },
  millrace_provider_requests_total: {
    type: 'counter',
    help: 'Requests to each provider that the job names, by step and HTTP status; code "none": no answer came.',
    of: ({ providers }) =>
      providers.flatMap(({ name: provider, meter }) =>
        [...meter.steps].flatMap(([step, { answers }]) =>
          [...answers].map(([status, value]) => ({ labels: { provider, step, code: codeOf(status) }, value })),
        ),
      ),
  },
  millrace_provider_credits_total: {
    type: 'counter',
    help: 'Credits that each provider says it has charged.',
    of: (view) => byProviders(view, ({ credits }) => credits),
  },
  millrace_provider_outage_seconds: {
    type: 'gauge',
    help: 'How long each provider has been down; 0 while it is not.',
    of: (view) => byProviders(view, ({ outageMs }) => outageMs / 1_000),
  },
  millrace_provider_skipped: {
    type: 'gauge',
    help: '1 while the run goes on without the provider.',
    of: (view) => byProviders(view, ({ skipped }) => (skipped === null ? 0 : 1)),
  },
};

/**
 * @param view null before the run has begun.
 * @param startedAtMs of the process, Unix time.
 * @param waitsFor the wait before the run begins
 */
export function familiesOf(job: string, view: RunView | null, startedAtMs: number, waitsFor: WaitReason | null = null): Family[] {
  const always: Readonly<Record<string, readonly MetricSample[]>> = {
    ...processSamples(startedAtMs),
    millrace_job_info: [{ labels: { name: job }, value: 1 }],
    ...(waitsFor === null ? {} : { millrace_held_up: heldUpSamples(waitsFor) }),
  };
  return Object.entries(METRICS).map(([name, { type, help, of }]) => ({
    name,
    type,
    help,
    samples: of === undefined || view === null ? (always[name] ?? []) : of(view),
  }));
}
