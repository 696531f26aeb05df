/** The options and events of the pool. Types only. */
import type { KeyRenewal } from '../client/rotating-key.ts';
import type { RecordOrigin } from '../formats/input-record.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { MillraceError } from '../util/errors.ts';
import type { CallAnswer } from './call.ts';
import type { Step } from '../steps/registry.ts';

/** The step of a call, and its size. */
export interface CallSize {
  readonly step: Step;
  /** Keys that one request asks for: addresses of a verify request, else 1. */
  readonly keys: number;
}

/** One attempt at a call. */
export interface SentCall extends CallSize {
  /** The first record that it asks for. Null for a key of the command line. */
  readonly origin: RecordOrigin | null;
  /** How often it was sent, this time included; since its latest pending answer. */
  readonly attempt: number;
  /** The slowest attempt so far, milliseconds. */
  readonly slowestMs: number;
}

/**
 * Whether a call may be sent. `never`: a limit of the job is reached. `smaller`: a request for fewer keys may still be sent. A promise: ask
 * again when it resolves.
 */
export type MayCall = true | 'never' | 'smaller' | Promise<void>;

/** The pool's events, for the counters and the log. */
export interface PoolEvents {
  sent(call: CallSize): void;
  /** Once for each call that was sent. A pending answer is an answer: asking for it again is another call. */
  answered(call: SentCall, result: CallAnswer<unknown>): void;
  retrying(step: Step, code: string): void;
  /** The service does not answer: from now on only probes go out. @param lastLookups it may only fail for the last lookups */
  wentDown(code: string, detail: string, lastLookups: boolean): void;
  cameBack(downMs: number): void;
}

export interface CallPoolOptions {
  readonly limiter: Limiter;
  readonly concurrency: number | 'auto';
  /** The most connections of this process; may be Infinity. */
  readonly maxConnections: number;
  /** The plan's requests a minute, null for unlimited. With the latency it tells `auto` how many calls at once it needs. */
  readonly rpm: number | null;
  /** Asked before each request. `never` ends the job with `limitReached`, and so does `smaller` for a call that cannot be divided. */
  readonly mayCall: (call: CallSize) => MayCall;
  readonly limitReached: (call: CallSize) => MillraceError;
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
