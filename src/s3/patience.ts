/** Attempts at S3: the one place that retries them, and that ends those which stand still. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MillraceError } from '../errors.ts';
import { faultOf } from './failure.ts';

export interface Patience {
  /** Failures in a row, without a byte between them, after which it is given up. */
  readonly attempts: number;
  /** Waits grow from this, doubling, with full jitter. Milliseconds. */
  readonly baseMs: number;
  readonly capMs: number;
  /** An attempt during which nothing comes for so long has failed. */
  readonly idleMs: number;
}

/** Outlives a throttled prefix and a restart of a server: about half a minute of waiting in all. */
export const PATIENCE: Patience = { attempts: 10, baseMs: 200, capMs: 20_000, idleMs: 30_000 };

export interface Attempt {
  /** Aborted when the attempt stood still, or nobody wants it any more. */
  readonly signal: AbortSignal;
  /** Bytes came: it does not stand still, and the failures before count no more. */
  progress(): void;
}

/**
 * Does `work` until it succeeds, for as long as what fails may pass.
 * @throws whatever `work` threw last; the signal's reason when it is aborted
 */
export async function patiently<T>(work: (attempt: Attempt) => Promise<T>, patience: Patience, signal: AbortSignal | undefined): Promise<T> {
  for (let failures = 0; ; ) {
    signal?.throwIfAborted();
    const idle = new AbortController();
    const timer = setTimeout(() => idle.abort(new Error(`nothing came for ${Number((patience.idleMs / 1_000).toFixed(1))} s`)), patience.idleMs);
    const attempt: Attempt = {
      signal: signal === undefined ? idle.signal : AbortSignal.any([signal, idle.signal]),
      progress: () => {
        failures = 0;
        timer.refresh();
      },
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
    if (failure instanceof MillraceError || faultOf(failure) !== 'passing' || failures >= patience.attempts) throw failure;
    await sleep(Math.random() * Math.min(patience.capMs, patience.baseMs * 2 ** (failures - 1)), undefined, { signal }).catch(() => undefined);
  }
}
