/** The metrics of the service, by name. `docs/operating.md` lists them; a test compares it with this table. */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { histogram, type Family, type MetricSample } from '../../telemetry/prometheus-text.ts';
import { PROCESS_METRICS, processSamples } from '../../telemetry/process-metrics.ts';
import { batchesPath } from '../batches/batch-folder.ts';
import { booksOf } from '../store/owner/store-name.ts';
import { spaceAt, WRITE_FAILURES, type DiskSpace, type WriteFailure } from '../store/store-disk.ts';
import type { ServiceMeter } from '../monitoring/meter.ts';
import type { Readiness } from '../monitoring/store-health.ts';

/** The state of the service when `/metrics` is read. */
export interface ServiceView {
  readonly meter: ServiceMeter;
  readonly readiness: Readiness;
  readonly inFlight: number;
  readonly connections: { readonly open: number; readonly refused: number };
  readonly streams: number;
  readonly lagMs: number;
  /** Duration of the event loop's last turn with requests, milliseconds. */
  readonly turnMs: number;
  /** Addresses that are looked into, and asynchronous verifications that are under way. */
  readonly verifying: { readonly addresses: number; readonly jobs: number };
  /** Jobs by state. */
  readonly batches: ReadonlyMap<string, number>;
  readonly webhooks: { readonly counts: Readonly<Record<string, number>>; readonly pending: number };
  /** How long the store has refused writes, milliseconds, and why; null when it takes them. */
  readonly stuckMs: number;
  readonly failure: WriteFailure | null;
  /** How often damage was met, by where. */
  readonly damage: ReadonlyMap<string, number>;
  readonly store: string;
}

interface Metric {
  readonly type: Family['type'];
  readonly help: string;
  /** Left out where the process has it. */
  readonly of?: (view: ServiceView) => readonly MetricSample[];
}

const one = (value: number): readonly MetricSample[] => [{ value }];
const by = (label: string, counts: Iterable<readonly [string, number]>): readonly MetricSample[] =>
  [...counts].map(([name, value]) => ({ labels: { [label]: name }, value }));

export const SERVICE_METRICS: Readonly<Record<string, Metric>> = {
  ...PROCESS_METRICS,
  millrace_service_ready: {
    type: 'gauge',
    help: '1 while the service takes requests and can read and write its store.',
    of: ({ readiness }) => one(Number(readiness.ready)),
  },
  millrace_service_requests_total: {
    type: 'counter',
    help: 'Requests by route and HTTP status; code "gone": the client went away before it was answered.',
    of: ({ meter }) =>
      [...meter.routes].flatMap(([route, { codes }]) => [...codes].map(([code, value]) => ({ labels: { route, code }, value }))),
  },
  millrace_service_request_duration_seconds: {
    type: 'histogram',
    help: 'Time from the headers of a request to the end of its answer.',
    of: ({ meter }) =>
      [...meter.routes].flatMap(([route, { latency }]) => histogram({ route }, latency.bounds, latency.counts, latency.sumS)),
  },
  millrace_service_requests_in_flight: {
    type: 'gauge',
    help: 'Requests that are not answered; streams aside.',
    of: ({ inFlight }) => one(inFlight),
  },
  millrace_service_event_streams: { type: 'gauge', help: 'Streams of signals that are open.', of: ({ streams }) => one(streams) },
  millrace_service_connections: { type: 'gauge', help: 'Connections that are open.', of: ({ connections }) => one(connections.open) },
  millrace_service_connections_refused_total: {
    type: 'counter',
    help: 'Connections that were closed at once, because there were too many.',
    of: ({ connections }) => one(connections.refused),
  },
  millrace_service_shed_total: {
    type: 'counter',
    help: 'Requests that were refused with 503: the line for the thread was too long, or too many were in flight.',
    of: ({ meter }) => by('reason', Object.entries(meter.shed)),
  },
  millrace_service_throttled_total: {
    type: 'counter',
    help: 'Requests that were refused with 429, by plan.',
    of: ({ meter }) => by('plan', meter.throttled),
  },
  millrace_service_credits_total: { type: 'counter', help: 'Credits that were charged.', of: ({ meter }) => one(meter.credits) },
  millrace_service_replays_total: {
    type: 'counter',
    help: 'Answers that were repeated for their Idempotency-Key.',
    of: ({ meter }) => one(meter.replays),
  },
  millrace_service_event_loop_lag_seconds: {
    type: 'gauge',
    help: 'The most by which the event loop was late within the last 15 to 30 seconds.',
    of: ({ lagMs }) => one(lagMs / 1_000),
  },
  millrace_service_turn_seconds: {
    type: 'gauge',
    help: 'How long the last turn of the event loop took that had requests.',
    of: ({ turnMs }) => one(turnMs / 1_000),
  },
  millrace_service_verifying_addresses: {
    type: 'gauge',
    help: 'Addresses that are being verified.',
    of: ({ verifying }) => one(verifying.addresses),
  },
  millrace_service_verifications_open: {
    type: 'gauge',
    help: 'Asynchronous verifications that are under way.',
    of: ({ verifying }) => one(verifying.jobs),
  },
  millrace_service_batches: { type: 'gauge', help: 'Batch jobs by state.', of: ({ batches }) => by('state', batches) },
  millrace_service_batch_lines_total: {
    type: 'counter',
    help: 'Lines of batch jobs that have their result.',
    of: ({ meter }) => one(meter.batchLines),
  },
  millrace_service_webhook_deliveries_total: {
    type: 'counter',
    help: 'Deliveries to webhooks by what became of an attempt; dropped: there were too many, erased: they named somebody who was.',
    of: ({ webhooks }) => by('result', Object.entries(webhooks.counts)),
  },
  millrace_service_webhook_deliveries_pending: {
    type: 'gauge',
    help: 'Deliveries to webhooks that are not settled.',
    of: ({ webhooks }) => one(webhooks.pending),
  },
  millrace_service_store_bytes: {
    type: 'gauge',
    help: 'Size of the store: directory and books, and the logs that are not merged into them yet.',
    of: ({ store }) =>
      Object.entries({ main: store, wal: `${store}-wal`, books: booksOf(store), books_wal: `${booksOf(store)}-wal` }).flatMap(
        ([file, path]) => sizeOf(path).map((value) => ({ labels: { file }, value })),
      ),
  },
  millrace_service_store_stuck_seconds: {
    type: 'gauge',
    help: 'How long the store has refused to be written; 0: it does not.',
    of: ({ stuckMs }) => one(stuckMs / 1_000),
  },
  millrace_service_store_unwritable: {
    type: 'gauge',
    help: '1 while the store cannot be written for this reason.',
    of: ({ failure }) =>
      by(
        'reason',
        WRITE_FAILURES.map((reason) => [reason, Number(reason === failure)]),
      ),
  },
  millrace_service_store_damage_total: {
    type: 'counter',
    help: 'How often a damaged part of the store was met, by route or part of the service.',
    of: ({ damage }) => by('where', damage),
  },
  millrace_service_disk_free_bytes: {
    type: 'gauge',
    help: 'Room on the file system of the store, and of the files of batch jobs where that is another.',
    of: ({ store }) => disksOf(store).map(({ files, space }) => ({ labels: { files }, value: space.free })),
  },
  millrace_service_disk_bytes: {
    type: 'gauge',
    help: 'Size of these file systems.',
    of: ({ store }) => disksOf(store).map(({ files, space }) => ({ labels: { files }, value: space.total })),
  },
};

/** @param startedAtMs of the process, Unix time */
export function serviceFamilies(view: ServiceView, startedAtMs: number): Family[] {
  const always: Readonly<Record<string, readonly MetricSample[]>> = processSamples(startedAtMs);
  return Object.entries(SERVICE_METRICS).map(([name, { type, help, of }]) => ({
    name,
    type,
    help,
    samples: of === undefined ? (always[name] ?? []) : of(view),
  }));
}

/** The file systems that the service writes to. */
function disksOf(store: string): { readonly files: 'store' | 'batches'; readonly space: DiskSpace }[] {
  const own = statSync(dirname(store), { throwIfNoEntry: false });
  const batches = statSync(batchesPath(store), { throwIfNoEntry: false });
  const isApart = batches !== undefined && batches.dev !== own?.dev;
  const paths = [['store', dirname(store)], ...(isApart ? [['batches', batchesPath(store)] as const] : [])] as const;
  return paths.flatMap(([files, path]) => {
    const space = spaceAt(path);
    return space === null ? [] : [{ files, space }];
  });
}

function sizeOf(path: string): number[] {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  return size === undefined ? [] : [size];
}
