/** Retries requests to S3, and aborts attempts that hang. No other place retries them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MillraceError } from '../util/errors.ts';
import { runScope } from '../util/run-scope.ts';
import { faultOf } from './failure.ts';

export interface RetryPolicy {
  /** Failures in a row without progress after which the request fails. */
  readonly attempts: number;
  /** First wait. Waits double, with full jitter. Milliseconds. */
  readonly baseMs: number;
  readonly capMs: number;
  /** Milliseconds without progress after which an attempt has failed. */
  readonly idleMs: number;
  /** Milliseconds since the last progress, or the first attempt, after which no attempt begins. Unlimited when it is left out. */
  readonly longestMs?: number;
  /** Ends all waiting, whatever attempts are left. */
  readonly until?: AbortSignal | undefined;
}

/**
 * For most requests. It outlasts a throttled prefix and a restart of a server: about half a minute of waits. A hanging server is given up
 * after three minutes.
 */
export const RETRY_POLICY: RetryPolicy = { attempts: 10, baseMs: 200, capMs: 20_000, idleMs: 30_000, longestMs: 150_000 };

/** For renewing a lock. Longer attempts are useless, because the lease ends 20 s after its renewal was due. */
export const LOCK_RETRY_POLICY: RetryPolicy = { attempts: 3, baseMs: 200, capMs: 1_000, idleMs: 5_000 };

export interface S3Attempt {
  /** Aborted when the attempt hangs or is no longer wanted. */
  readonly signal: AbortSignal;
  /** Bytes were received. The attempt does not hang, and the count of failures starts again. */
  progress(): void;
  /** Bytes were sent. The attempt does not hang, but this is no success: bytes may only have reached a buffer. */
  moves(): void;
}

/**
 * Repeats `work` until it succeeds, as long as its failure may be temporary.
 * @throws the last error of `work`; the reason of `unwanted` or `until` when aborted
 */
export async function withRetries<T>(
  work: (attempt: S3Attempt) => Promise<T>,
  retryPolicy: RetryPolicy,
  unwanted: AbortSignal | undefined,
): Promise<T> {
  const signals = [unwanted, retryPolicy.until].filter((one) => one !== undefined);
  const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
  let leave: (() => void) | null = null;
  try {
    for (let [failures, sinceMs] = [0, performance.now()]; ;) {
      signal?.throwIfAborted();
      const idle = new AbortController();
      const timer = setTimeout(
        () => idle.abort(new Error(`nothing came for ${Number((retryPolicy.idleMs / 1_000).toFixed(1))} s`)),
        retryPolicy.idleMs,
      );
      const attempt: S3Attempt = {
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
      if (
        failure instanceof MillraceError ||
        faultOf(failure) !== 'passing' ||
        failures >= retryPolicy.attempts ||
        performance.now() - sinceMs >= (retryPolicy.longestMs ?? Infinity)
      )
        throw failure;
      leave ??= runScope().waits.enter({ reason: 'storage', what: 'S3, which failed and is asked again', untilMs: null });
      await sleep(Math.random() * Math.min(retryPolicy.capMs, retryPolicy.baseMs * 2 ** (failures - 1)), undefined, { signal }).catch(
        () => undefined,
      );
    }
  } finally {
    leave?.();
  }
}
