/** A call pool in virtual time, before a service with scripted answers. */
import { vi } from 'vitest';
import type { CallMeta } from '../../src/client/types.ts';
import { EXIT, MillraceError } from '../../src/util/errors.ts';
import type { CallAnswer } from '../../src/pool/call.ts';
import { CallPool, type PoolCall, type CallPoolOptions, type SettledCall } from '../../src/pool/call-pool.ts';
import { makeLimiter, quotaOf } from '../limiter/virtual.ts';

export type Answer = CallAnswer<string>;

export function meta(status: number, headers: Readonly<Record<string, string>> = {}): CallMeta {
  return { status, headers, quota: quotaOf(headers), requestId: `r-${status}`, credits: 0, latencyMs: 10 };
}

export const OK: Answer = { kind: 'ok', value: 'yes', meta: meta(200) };
export const MISS: Answer = { kind: 'miss', meta: meta(404) };
export const REJECTED: Answer = { kind: 'rejected', code: 'validation_failed', detail: 'no', meta: meta(422) };
/** No request could be made of the lookup. */
export const NEVER_MADE: Answer = { kind: 'rejected', code: 'no_request_value', detail: 'no key', meta: meta(0) };
export const HTTP_500: Answer = { kind: 'retryable', code: 'http_500', detail: 'oops', retryAfterMs: null, meta: meta(500) };
/** The answer of a gateway whose service is down. */
export const HTTP_503: Answer = { kind: 'retryable', code: 'http_503', detail: 'gone', retryAfterMs: null, meta: meta(503) };
export const CONNECTION_REFUSED: Answer = {
  kind: 'retryable',
  code: 'network',
  detail: 'connect ECONNREFUSED 127.0.0.1:9',
  retryAfterMs: null,
  meta: meta(0),
};
/** A login page, or a page of a site that is not the data service. */
export const HTML_PAGE: Answer = {
  kind: 'retryable',
  code: 'bad_body',
  detail: 'the answer is an HTML page',
  retryAfterMs: null,
  meta: meta(200),
  page: true,
};
export const CONNECTION_CLOSED: Answer = {
  kind: 'retryable',
  code: 'network',
  detail: 'other side closed',
  retryAfterMs: null,
  meta: meta(0),
};
export const throttledFor = (retryAfterMs: number | null): Answer => ({ kind: 'throttled', retryAfterMs, meta: meta(429) });

export const pendingFor = (afterMs: number, ticket = 't', longestMs = 600_000): Answer => ({
  kind: 'pending',
  ticket,
  afterMs,
  longestMs,
  meta: meta(202),
});

export interface Bed {
  readonly pool: CallPool;
  /** Every attempt with its lookup and its time in milliseconds since the start. */
  readonly sent: { readonly id: number; readonly at: number }[];
  readonly settled: Map<number, SettledCall<string>>;
  readonly fatal: unknown[];
  readonly events: string[];
  mostInFlight: number;
  inFlight: number;
  submit(id: number, more?: Pick<PoolCall<string>, 'divisible' | 'keys' | 'isTooDear' | 'promise' | 'promised'>): void;
}

/** @param answer the result of an attempt (from 1) at lookup `id`, and its latency in milliseconds (default 10) */
export function testBed(
  answer: (id: number, attempt: number, at: number) => Answer | readonly [Answer, number],
  options: Partial<CallPoolOptions> & { rpm?: number | null; onSettle?: (id: number, settled: SettledCall<string>) => void } = {},
): Bed {
  const start = performance.now();
  const { rpm = null, onSettle, ...more } = options;
  const attempts = new Map<number, number>();
  const fatal: unknown[] = [];
  const events: string[] = [];
  const pool = new CallPool({
    limiter: makeLimiter(rpm),
    concurrency: 4,
    maxConnections: Infinity,
    rpm,
    mayCall: () => true,
    limitReached: () => new MillraceError(EXIT.refused, 'max_calls', 'limits.maxCalls is reached'),
    hasAnswered: false,
    isRetryRun: false,
    unfitIsAnswer: false,
    maxWaitMs: 900_000,
    maxOutageMs: 600_000,
    events: {
      sent: () => undefined,
      rejoined: () => undefined,
      answered: (_, result) => events.push(result.kind),
      retrying: (_, code) => events.push(`retrying ${code}`),
      wentDown: () => events.push('open'),
      cameBack: () => events.push('closed'),
    },
    onFatal: (error) => fatal.push(error),
    monotonicNow: () => performance.now(),
    random: () => 0.5,
    ...more,
  });
  const bed: Bed = {
    pool,
    sent: [],
    settled: new Map(),
    fatal,
    events,
    mostInFlight: 0,
    inFlight: 0,
    submit: (id, more = {}) => {
      pool.submit<string>({
        ...more,
        step: 'enrich',
        send: async () => {
          const attempt = (attempts.get(id) ?? 0) + 1;
          attempts.set(id, attempt);
          const at = performance.now() - start;
          bed.sent.push({ id, at });
          bed.mostInFlight = Math.max(bed.mostInFlight, ++bed.inFlight);
          const scripted = answer(id, attempt, at);
          const [result, latencyMs] = 'kind' in scripted ? [scripted, 10] : scripted;
          await new Promise((resolve) => setTimeout(resolve, latencyMs));
          bed.inFlight--;
          return { ...result, meta: { ...result.meta, latencyMs } };
        },
        settle: (settled) => {
          if (bed.settled.has(id)) throw new Error(`lookup ${id} was settled twice`);
          bed.settled.set(id, settled);
          onSettle?.(id, settled);
        },
      });
    },
  };
  return bed;
}

/** Submits lookups as the reader does: it waits while the pool has no room. */
export async function readAll(bed: Bed, lookups: number): Promise<void> {
  for (let id = 0; id < lookups; id++) {
    for (let room = bed.pool.room(); room !== null; room = bed.pool.room()) await room;
    bed.submit(id);
  }
}

export async function advance(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

export function attemptsOf(bed: Bed, id: number): number {
  return bed.sent.filter((sent) => sent.id === id).length;
}
