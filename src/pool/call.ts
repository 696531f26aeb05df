import type { PendingAnswer } from '../client/provider-client.ts';
import type { CallMeta, CallResult } from '../client/types.ts';
import type { AnsweredCall, CallNumber } from '../limiter/limiter.ts';
import type { RecordOrigin } from '../formats/input-record.ts';
import type { Step } from '../steps/registry.ts';

/** The step of a call, and its size. */
export interface CallSize {
  readonly step: Step;
  /** Keys that one request asks for: addresses of a verify request, else 1. */
  readonly keys: number;
  /** It asks for a promised answer: the credits that the answer may cost are reserved already. */
  readonly isPoll?: boolean;
}

/** One attempt at a call. */
export interface SentCall extends CallSize {
  /** The first record that it asks for. Null for a key of the command line. */
  readonly origin: RecordOrigin | null;
  /** How often it was sent, this time included; since its latest pending answer. */
  readonly attempt: number;
  /** The slowest attempt so far, milliseconds. */
  readonly slowestMs: number;
  /** Credits that its pending answers have named so far; absent: none. */
  readonly charged?: number;
}

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

export interface EarlierPromise {
  /** When it came, milliseconds since 1970; null where that is unknown. */
  readonly at: number | null;
  /** Credits that pending answers have named for it. */
  readonly charged: number;
}

export interface PoolCall<T> {
  readonly step: Step;
  /** Keys that it asks for; default 1. */
  readonly keys?: number;
  /** The first record that it asks for, for the report. */
  readonly origin?: RecordOrigin | null;
  /** It asks for several keys, and is divided and sent again when it fails: its failure loses nothing. */
  readonly divisible?: boolean;
  /** A provider has promised the answer to an earlier run. Absent: it promised nothing. */
  readonly promise?: EarlierPromise;
  /** One attempt; never throws. After a pending answer it is asked again, with the ticket that `promised` was given. */
  send(): Promise<CallAnswer<T>>;
  /**
   * A pending answer has another ticket than the one before, or names credits. The caller stores both, and sends the ticket from now on.
   * @param charged credits that the pending answers have named so far
   */
  promised?(ticket: string, charged: number): void;
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
  /** Whether the provider has promised the answer and not given it. */
  isPromised: boolean;
  /** Credits that pending answers have named. */
  charged: number;
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
    isPromised: false,
    charged: call.promise?.charged ?? 0,
  };
}

/** The call's step and size, as limits and counters see it. */
export function sizeOf({ call: { step, keys = 1 }, isPromised }: Task): CallSize {
  return isPromised ? { step, keys, isPoll: true } : { step, keys };
}

/** The limiter's view of an answer. */
export function observed(callNumber: CallNumber, result: CallAnswer<unknown>): AnsweredCall {
  return {
    callNumber,
    quota: result.meta.quota,
    throttled: result.kind === 'throttled',
    failed: result.kind === 'retryable',
    retryAfterMs: 'retryAfterMs' in result ? result.retryAfterMs : null,
  };
}

/** An attempt that was answered. @param size of the call when it was sent */
export function sentCall({ call: { origin = null }, sent, slowestMs, charged }: Task, size: CallSize): SentCall {
  return { ...size, origin, attempt: sent, slowestMs, ...(charged === 0 ? {} : { charged }) };
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
