/** Attempts at S3: the one place that retries them, and that ends those which stand still. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MillraceError } from '../errors.ts';
import { waits } from '../waits.ts';
import { faultOf } from './failure.ts';

export interface Patience {
  /** Failures in a row, without a byte between them, after which it is given up. */
  readonly attempts: number;
  /** Waits grow from this, doubling, with full jitter. Milliseconds. */
  readonly baseMs: number;
  readonly capMs: number;
  /** An attempt during which nothing comes or goes for so long has failed. */
  readonly idleMs: number;
  /** No further attempt begins so long after the last byte that came, or after the first attempt; none: as many as are left. */
  readonly longestMs?: number;
  /** Nobody waits longer than this, whatever the attempts left. */
  readonly until?: AbortSignal | undefined;
}

/** Outlives a throttled prefix and a restart of a server: about half a minute of waiting in all; and a server that stands still is left after three minutes. */
export const PATIENCE: Patience = { attempts: 10, baseMs: 200, capMs: 20_000, idleMs: 30_000, longestMs: 150_000 };

/** A renewal of a lock that takes longer is of no use: the lease ends 20 s after it was due. */
export const LOCK_PATIENCE: Patience = { attempts: 3, baseMs: 200, capMs: 1_000, idleMs: 5_000 };

export interface Attempt {
  /** Aborted when the attempt stood still, or nobody wants it any more. */
  readonly signal: AbortSignal;
  /** Bytes came: it does not stand still, and the failures before count no more. */
  progress(): void;
  /** Bytes went: it does not stand still. That is no success yet, for they go as far as the next buffer. */
  moves(): void;
}

/**
 * Does `work` until it succeeds, for as long as what fails may pass.
 * @throws whatever `work` threw last; the reason of `unwanted`, or of `until`, when it is aborted
 */
export async function patiently<T>(work: (attempt: Attempt) => Promise<T>, patience: Patience, unwanted: AbortSignal | undefined): Promise<T> {
  const signals = [unwanted, patience.until].filter((one) => one !== undefined);
  const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
  let leave: (() => void) | null = null;
  try {
    for (let [failures, sinceMs] = [0, performance.now()]; ; ) {
      signal?.throwIfAborted();
      const idle = new AbortController();
      const timer = setTimeout(() => idle.abort(new Error(`nothing came for ${Number((patience.idleMs / 1_000).toFixed(1))} s`)), patience.idleMs);
      const attempt: Attempt = {
        signal: signal === undefined ? idle.signal : AbortSignal.any([signal, idle.signal]),
        progress: () => {
          [failures, sinceMs] = [0, performance.now()];
          timer.refresh();
        },
        moves: () => void timer.refresh(),
      };
      let failure: unknown;
      try {
        return await work(attempt);
      } catch (error) {
        failure = idle.signal.aborted ? idle.signal.reason : error;
      } finally {
        clearTimeout(timer);
      }
      signal?.throwIfAborted();
      failures += 1;
      if (failure instanceof MillraceError || faultOf(failure) !== 'passing' || failures >= patience.attempts || performance.now() - sinceMs >= (patience.longestMs ?? Infinity)) throw failure;
      leave ??= waits.enter({ reason: 'storage', what: 'S3, which failed and is asked again', untilMs: null });
      await sleep(Math.random() * Math.min(patience.capMs, patience.baseMs * 2 ** (failures - 1)), undefined, { signal }).catch(() => undefined);
    }
  } finally {
    leave?.();
  }
}
