import type { CallResult } from '../client/types.ts';
import type { Step } from '../job/types.ts';

/** What a call came to once nothing more will be tried. */
export type Settled<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly attempts: number; readonly requestId: string | null }
  | { readonly kind: 'miss' | 'suppressed'; readonly status: number; readonly attempts: number; readonly requestId: string | null }
  /** `rejected`: the service refused this request itself (4xx); otherwise all attempts were used up, or it said "later" for too long. */
  | { readonly kind: 'failed'; readonly rejected: boolean; readonly status: number; readonly code: string; readonly attempts: number; readonly requestId: string | null };

export interface Call<T> {
  readonly step: Step;
  /** It asks for several keys, and is asked for again in parts when it fails: its failure loses nothing. */
  readonly divisible?: boolean;
  /** One attempt; never throws. */
  send(): Promise<CallResult<T>>;
  /** Whether this failed attempt is the last, because something else will be asked instead. Left out: attempts are used up. */
  givesUp?(failure: CallResult<T> & { kind: 'retryable' }): boolean;
  /** Called once, unless the pool was stopped first. */
  settle(settled: Settled<T>): void;
}

/** A call on its way through the pool. */
export interface Task {
  readonly call: Call<unknown>;
  /** Attempts that failed and count. */
  attempts: number;
  /** Whether it was ever sent. */
  sent: boolean;
  /** When the service first said "later" to it; null: never. */
  throttledSince: number | null;
  /** Calls that had been answered when it was first sent. */
  answersWhenSent: number;
  /** The same when it first failed. */
  answersBefore: number;
}

export function newTask(call: Call<unknown>): Task {
  return { call, attempts: 0, sent: false, throttledSince: null, answersWhenSent: 0, answersBefore: 0 };
}
