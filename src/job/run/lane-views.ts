/** The limiters and pools of a run as progress and monitor see them: as one. */
import type { Limiter } from '../../limiter/limiter.ts';
import type { CallPool } from '../../pool/call-pool.ts';
import type { Counters } from './counters.ts';
import type { Lane } from './open-calls.ts';

export type RunLimiter = Pick<Limiter, 'throttledMs' | 'pausedMs' | 'burst' | 'stated'>;
export type RunPool = Pick<CallPool, 'outage' | 'concurrency' | 'inFlight' | 'waiting' | 'room'>;

/** A lane with the provider's name; null for the one service of a job. */
export interface LaneView extends Lane {
  readonly name: string | null;
}

/** A provider that a job names, as monitor and progress see it. */
export interface ProviderView {
  readonly name: string;
  readonly counters: Pick<Counters, 'meter' | 'credits'>;
  /** Why the run goes on without it; null while it is asked. */
  readonly skipped: string | null;
  /** How long it has been down, milliseconds; 0 while it is not. */
  readonly outageMs: number;
}

/**
 * One view of all lanes. A pause counts when every lane pauses, and an outage when every lane has one: else calls are sent, and the run
 * goes on.
 */
export function allLanes(lanes: readonly LaneView[]): { readonly limiter: RunLimiter; readonly pool: RunPool } {
  const [first] = lanes;
  if (first === undefined) throw new Error('a run has a provider');
  if (lanes.length === 1) return first;
  const sum = (of: (lane: LaneView) => number): number => lanes.reduce((total, lane) => total + of(lane), 0);
  const least = (of: (lane: LaneView) => number): number => Math.min(...lanes.map(of));
  return {
    limiter: {
      throttledMs: () => least(({ limiter }) => limiter.throttledMs()),
      pausedMs: () => least(({ limiter }) => limiter.pausedMs()),
      get burst() {
        return least(({ limiter }) => limiter.burst);
      },
      // Several quotas have no sum.
      stated: null,
    },
    pool: {
      get outage() {
        const outages = lanes.map(({ pool }) => pool.outage);
        return outages.every((outage) => outage !== null) ? (outages[0] ?? null) : null;
      },
      get concurrency() {
        return sum(({ pool }) => pool.concurrency);
      },
      get inFlight() {
        return sum(({ pool }) => pool.inFlight);
      },
      get waiting() {
        return sum(({ pool }) => pool.waiting);
      },
      // Records go to the first lane first. What waits for the others is bounded by the window of the loop.
      room: () => first.pool.room(),
    },
  };
}
