/** The waits of a run's parts, for the progress line, the log and the monitor. */
import type { Limiter } from '../../limiter/limiter.ts';
import type { CallPool } from '../../pool/call-pool.ts';
import type { Wait, WaitReason, Waits } from '../../util/waits.ts';
import { formatOutage } from '../progress/snapshot.ts';
import { count } from '../../util/display.ts';

interface WaitingChannel {
  /** The provider; null for the one service of a job. */
  readonly name: string | null;
  readonly limiter: Pick<Limiter, 'waiting'>;
  readonly pool: Pick<CallPool, 'outage' | 'inFlight' | 'retriesWaiting' | 'waiting' | 'pendingAnswers'>;
}

export interface WaitSources {
  readonly channels: readonly WaitingChannel[];
  /** The wait that keeps the run from claiming lookups; null when it may claim. */
  readonly joining: () => Wait | null;
  /** Lookups that another run is asking for. */
  readonly claimed: () => number;
  /** Addresses with a pending verdict, and when the first is asked for again (monotonic milliseconds); null when no verdict is pending. */
  readonly pending: () => { readonly lookups: number; readonly untilMs: number } | null;
  /** Lookups with a 404 that is no miss yet, and when the first is asked once more (monotonic milliseconds); null without any. */
  readonly unproven: () => { readonly lookups: number; readonly untilMs: number } | null;
  /** The side that keeps the reader waiting; null when it reads, or has reached the end. */
  readonly reader: () => 'input' | 'output' | null;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Shows the waits of the parts in `waits`, until the returned function is called. */
export function watchRun(waits: Waits, { channels, joining, claimed, pending, unproven, reader, now }: WaitSources): () => void {
  const sum = (of: (channel: WaitingChannel) => number): number => channels.reduce((total, channel) => total + of(channel), 0);
  const leaves = [
    ...channels.map(
      ({ name, pool }) =>
        () =>
          ofProvider(name, outageWait(pool, now())),
    ),
    ...channels.map(
      ({ name, limiter }) =>
        () =>
          ofProvider(name, limiter.waiting()),
    ),
    joining,
    () => ifAny(claimed(), 'claim', (n) => `the answers to ${lookups(n)} that another run is asking for`),
    () =>
      ifAny(
        sum(({ pool }) => pool.inFlight),
        'answers',
        (n) => `the ${n === 1 ? 'answer to one request' : `answers to ${count(n)} requests`} under way`,
      ),
    () =>
      ifAny(
        sum(({ pool }) => pool.retriesWaiting),
        'retry',
        (n) => `the time at which ${n === 1 ? 'a failed request is' : `${count(n)} failed requests are`} sent again`,
      ),
    () =>
      ifAny(
        sum(({ pool }) => pool.pendingAnswers),
        'answers',
        (n) => `${lookups(n)} that a provider answers later`,
      ),
    () => pendingWait(pending()),
    () => unprovenWait(unproven()),
    () => readerWait(reader()),
    // A request with a fresh permit is about to leave.
    (): Wait | null =>
      sum(({ pool }) => pool.waiting) > 0
        ? null
        : {
            reason: 'no_requests',
            what: 'a row that needs a request: the rows of now have no valid key, are in the ledger, or share a request that is not full',
            untilMs: null,
          },
  ].map((source) => waits.watch(source));
  return () => {
    for (const leave of leaves) leave();
  };
}

/** A wait for one of several providers names it. */
function ofProvider(name: string | null, wait: Wait | null): Wait | null {
  return wait === null || name === null ? wait : { ...wait, what: `${wait.what} (${name})` };
}

function outageWait({ outage }: WaitingChannel['pool'], now: number): Wait | null {
  if (outage === null) return null;
  return { reason: 'outage', what: formatOutage(outage.lastLookups), untilMs: outage.probeInMs > 0 ? now + outage.probeInMs : null };
}

function pendingWait(pending: ReturnType<WaitSources['pending']>): Wait | null {
  if (pending === null) return null;
  return {
    reason: 'verify',
    what: `the time at which ${count(pending.lookups)} pending ${pending.lookups === 1 ? 'address is' : 'addresses are'} asked for again`,
    untilMs: pending.untilMs,
  };
}

function unprovenWait(unproven: ReturnType<WaitSources['unproven']>): Wait | null {
  if (unproven === null) return null;
  const are = unproven.lookups === 1 ? 'is' : 'are';
  const what = `the time at which ${lookups(unproven.lookups)} with a 404 of an unusual form ${are} asked once more`;
  return { reason: 'answers', what, untilMs: unproven.untilMs };
}

function readerWait(reader: ReturnType<WaitSources['reader']>): Wait | null {
  if (reader === null) return null;
  return { reason: reader, what: reader === 'input' ? 'the next records of the input' : 'the reader of the output', untilMs: null };
}

function ifAny(n: number, reason: WaitReason, what: (n: number) => string): Wait | null {
  return n === 0 ? null : { reason, what: what(n), untilMs: null };
}

function lookups(n: number): string {
  return n === 1 ? 'one lookup' : `${count(n)} lookups`;
}
