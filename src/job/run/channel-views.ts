/** The limiters and pools of a run as progress and monitor see them: as one. */
import type { Limiter } from '../../limiter/limiter.ts';
import type { CallPool } from '../../pool/call-pool.ts';
import type { Counters } from './counters.ts';
import type { Channel } from './open-calls.ts';
import { present } from '../../util/assert.ts';

export type RunLimiter = Pick<Limiter, 'throttledMs' | 'pausedMs' | 'pausedFor' | 'burst' | 'stated'>;
export type RunPool = Pick<CallPool, 'outage' | 'concurrency' | 'inFlight' | 'waiting' | 'room'>;

/** A channel with the provider's name; null for the one service of a job. */
export interface ChannelView extends Channel {
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
 * One view of all channels. A pause counts when every channel pauses, and an outage when every channel has one. Else calls are sent, and
 * the run goes on.
 */
export function allChannels(channels: readonly ChannelView[]): { readonly limiter: RunLimiter; readonly pool: RunPool } {
  const first = present(channels[0], 'a run has a provider');
  if (channels.length === 1) return first;
  const sum = (of: (channel: ChannelView) => number): number => channels.reduce((total, channel) => total + of(channel), 0);
  const least = (of: (channel: ChannelView) => number): number => Math.min(...channels.map(of));
  return {
    limiter: {
      throttledMs: () => least(({ limiter }) => limiter.throttledMs()),
      pausedMs: () => least(({ limiter }) => limiter.pausedMs()),
      pausedFor: () =>
        channels.reduce((one, other) => (other.limiter.pausedMs() < one.limiter.pausedMs() ? other : one)).limiter.pausedFor(),
      get burst() {
        return least(({ limiter }) => limiter.burst);
      },
      // Several quotas have no sum.
      stated: null,
    },
    pool: {
      get outage() {
        const outages = channels.map(({ pool }) => pool.outage);
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
      // Records go to the first channel first. The window of the loop bounds the lookups that wait for the others.
      room: () => first.pool.room(),
    },
  };
}
