/** The options and events of the pool. Types only. */
import type { KeyRenewal } from '../client/rotating-key.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { MillraceError } from '../util/errors.ts';
import type { CallAnswer, CallSize, SentCall } from './call.ts';
import type { OpenPromises } from './open-promises.ts';
import type { Step } from '../steps/registry.ts';

export type { CallSize, SentCall } from './call.ts';

/**
 * Whether a call may be sent. `never`: a limit of the job is reached. `spent`: all credits are spent or reserved. `smaller`: a request for
 * fewer keys may still be sent. A promise: ask again when it resolves.
 */
export type MayCall = true | 'never' | 'spent' | 'smaller' | Promise<void>;

/** The pool's events, for the counters and the log. */
export interface PoolEvents {
  sent(call: CallSize): void;
  /** A call will ask for the answer that was promised to an earlier run. @param charged credits that were named for it so far */
  rejoined(call: CallSize, charged: number): void;
  /** Once for each call that was sent. A pending answer is an answer: asking for it again is another call. */
  answered(call: SentCall, result: CallAnswer<unknown>): void;
  retrying(step: Step, code: string): void;
  /** The service does not answer: from now on only probes go out. @param lastLookups it may only fail for the last lookups */
  wentDown(code: string, detail: string, lastLookups: boolean): void;
  cameBack(downMs: number): void;
}

export interface CallPoolOptions {
  readonly limiter: Limiter;
  /** Limiters of polls that are counted apart; absent: none. */
  readonly pollLimiters?: readonly Limiter[];
  /** The limiter that counts the polls of a step; absent: `limiter`. */
  readonly limiterOfPolls?: (step: Step) => Limiter;
  /** Promises that may be open at once for a step; null: any number. Absent: any number for each step. */
  readonly maxOpenOf?: (step: Step) => number | null;
  /** How long an answer of a step is polled after its promise, milliseconds. Null or absent: a failing poll has the usual attempts. */
  readonly longestPollMsOf?: (step: Step) => number | null;
  readonly concurrency: number | 'auto';
  /** The most connections of this process; may be Infinity. */
  readonly maxConnections: number;
  /** The plan's requests a minute, null for unlimited. With the latency it tells `auto` how many calls at once it needs. */
  readonly rpm: number | null;
  /**
   * Asked before each request. `never` ends the job with `limitReached`. So do `spent`, and `smaller` for a call that cannot be divided,
   * once no promised answer can free credits any more.
   */
  readonly mayCall: (call: CallSize) => MayCall;
  readonly limitReached: (call: CallSize) => MillraceError;
  /** Shared by all pools of the run; absent: this pool is the only one. */
  readonly promises?: OpenPromises;
  /**
   * Reads the API key again after a call with it was refused. Resolves to null, or is absent, when the key cannot change. Never rejects.
   */
  readonly renewKey?: (keyVersion: number) => Promise<KeyRenewal | null>;
  /** Whether the service has answered this job in an earlier run, so that the address is right. */
  readonly hasAnswered: boolean;
  /** Whether this is a retry: every lookup has failed in an earlier run. */
  readonly isRetryRun: boolean;
  /**
   * Whether answers of a shape that says nothing are answers all the same, and begin no outage. Then another part ends a run that gets
   * nothing else.
   */
  readonly unfitIsAnswer: boolean;
  readonly maxWaitMs: number;
  readonly maxOutageMs: number;
  readonly events: PoolEvents;
  /** Ends the run, for an answer that no other call can improve on, or a failure to store a result. */
  readonly onFatal: (error: unknown) => void;
  readonly monotonicNow: () => number;
  readonly random: () => number;
}
