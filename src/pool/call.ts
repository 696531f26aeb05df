import type { PendingAnswer } from '../client/provider-client.ts';
import type { CallMeta, CallResult } from '../client/types.ts';
import type { RecordOrigin } from '../formats/input-record.ts';
import type { Step } from '../steps/registry.ts';

/** The answer to one attempt: a result, or the promise of one. */
export type CallAnswer<T> = CallResult<T> | PendingAnswer;

/** The final result of a call. */
export type SettledCall<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly attempts: number; readonly requestId: string | null }
  | {
      readonly kind: 'miss' | 'suppressed';
      readonly status: number;
      readonly attempts: number;
      readonly requestId: string | null;
      /** See `Miss`. */
      readonly form?: string;
      readonly stored?: string;
    }
  /**
   * `rejected`: the service refused this request (4xx), or answered it in a shape that says nothing. Otherwise all attempts failed, or the
   * service throttled it for too long.
   */
  | {
      readonly kind: 'failed';
      readonly rejected: boolean;
      readonly status: number;
      readonly code: string;
      readonly attempts: number;
      readonly requestId: string | null;
      /** A paid answer that the provider's definition cannot map, for the ledger. */
      readonly stored?: string;
    };

/** The code of a call whose promised answer did not come in time. */
export const STILL_PENDING = 'still_pending';

type FailedCall = Extract<SettledCall<never>, { readonly kind: 'failed' }>;

export interface PoolCall<T> {
  readonly step: Step;
  /** Keys that it asks for; default 1. */
  readonly keys?: number;
  /** The first record that it asks for, for the report. */
  readonly origin?: RecordOrigin | null;
  /** It asks for several keys, and is divided and sent again when it fails: its failure loses nothing. */
  readonly divisible?: boolean;
  /** When a provider promised the answer to an earlier run, milliseconds since 1970. Absent: it promised nothing. */
  readonly promisedAt?: number;
  /** One attempt; never throws. After a pending answer it is asked again, with the ticket that `promised` was given. */
  send(): Promise<CallAnswer<T>>;
  /** A pending answer has another ticket than the one before. The caller stores it, and sends it from now on. */
  promised?(ticket: string): void;
  /** The limits of the job have no room for it. Returns whether smaller calls will replace it. Absent: no. */
  isTooDear?(): boolean;
  /** Whether this failed attempt is the last, because another call will replace it. Absent: all attempts are used. */
  givesUp?(failure: CallResult<T> & { kind: 'retryable' }): boolean;
  /** Called once, unless the pool is drained first. */
  settle(settled: SettledCall<T>): void;
}

/** A call on its way through the pool. */
export interface Task {
  readonly call: PoolCall<unknown>;
  /** Attempts that failed and count, since the latest pending answer. */
  attempts: number;
  /** Answers of a shape that says nothing here: see `Retryable.unfit`. */
  unfit: number;
  /** How often the service has refused the API key of now for it. */
  denials: number;
  /** How often it was sent since the latest pending answer. */
  sent: number;
  /** Its slowest attempt, milliseconds. */
  slowestMs: number;
  /** When the service first throttled it; null when it never did. */
  throttledSince: number | null;
  /** Calls that were answered before it was first sent. */
  answersWhenSent: number;
  /** Calls that were answered before it first failed. */
  answersWhenFailed: number;
  /** The ticket of its latest pending answer, and when the first one came; null without one. */
  ticket: string | null;
  pendingSince: number | null;
}

export function newTask(call: PoolCall<unknown>): Task {
  return {
    call,
    attempts: 0,
    unfit: 0,
    denials: 0,
    sent: 0,
    slowestMs: 0,
    throttledSince: null,
    answersWhenSent: 0,
    answersWhenFailed: 0,
    ticket: null,
    pendingSince: null,
  };
}

/** How a final result settles its call. @param attempts all of them, this one included */
export function settledCall(
  result: Extract<CallResult<unknown>, { kind: 'ok' | 'miss' | 'suppressed' | 'rejected' }>,
  attempts: number,
): SettledCall<unknown> {
  const { status, requestId } = result.meta;
  if (result.kind === 'ok') return { kind: 'ok', value: result.value, attempts, requestId };
  if (result.kind === 'rejected') {
    const failed = failedCall(result.meta, result.code, attempts, true);
    return result.stored === undefined ? failed : { ...failed, stored: result.stored };
  }
  const settled = { kind: result.kind, status, attempts, requestId };
  if (result.kind === 'suppressed') return settled;
  const { form, stored } = result;
  return { ...settled, ...(form === undefined ? {} : { form }), ...(stored === undefined ? {} : { stored }) };
}

/** @param rejected see `SettledCall` */
export function failedCall({ status, requestId }: CallMeta, code: string, attempts: number, rejected = false): FailedCall {
  return { kind: 'failed', rejected, status, code, attempts, requestId };
}
