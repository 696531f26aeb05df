import type { RunTotals } from '../checkpoint/checkpoint-file.ts';
import type { CallResult } from '../client/types.ts';
import type { ThrottledWait } from '../limiter/limiter.ts';
import type { PoolEvents } from '../pool/call-pool.ts';
import { wasNeverSent } from '../pool/circuit.ts';
import type { KeptSize } from '../processor/request-size.ts';
import type { Outcome } from '../processor/result.ts';
import type { CallSeries } from './call-series.ts';
import { LatencyHistogram } from './latency-histogram.ts';
import { Meter } from './meter.ts';
import { addWaits, NO_WAITS, type WaitTotals } from './wait-log.ts';
import type { Step } from './types.ts';

/** What the calls add up to, over all resumes. The only place that counts calls. */
export class Counters implements Pick<PoolEvents, 'sent' | 'answered' | 'retrying' | 'wentDown' | 'cameBack'> {
  readonly calls: Record<string, number>;
  retries: number;
  throttledEvents: number;
  credits: number;
  /** Verify requests that were too large for the service, such as those that ran into the time limit. */
  verifyTooLarge: number;
  /** How large verify requests are, as a resume begins with it; null: none was answered yet. */
  verifySize: KeptSize | null;
  readonly latency: LatencyHistogram;
  /** Calls of this execution alone: for the rate on the progress line. */
  callsNow = 0;
  readonly #verify = { inFlight: 0, lastSentMs: 0 };
  /** When the last of them was sent, or when the counting began: monotonic milliseconds. */
  lastSentMs: number;
  /** What this execution waited for; none where nobody watches. */
  waitsNow: () => WaitTotals = () => NO_WAITS;
  /** Requests that the service offered this execution beyond the plan's rate. */
  beyondPlanNow: () => number = () => 0;
  /** The same, as a monitor shows it. */
  readonly meter = new Meter();
  /** Waits that are over, and the one that is or was last: monotonic milliseconds. */
  #waitedMs: number;
  #waitsFrom = 0;
  #waitsUntil = 0;
  readonly #activeBefore: number;
  readonly #startedAt: number;
  readonly #now: () => number;
  readonly #series: CallSeries | null;
  readonly #waitsBefore: WaitTotals;
  readonly #beyondPlanBefore: number;

  /** @param now monotonic milliseconds. @param series null: nobody asks when the calls were sent */
  constructor(from: RunTotals | null, now: () => number, series: CallSeries | null = null) {
    this.calls = { ...from?.calls };
    this.retries = from?.retries ?? 0;
    this.throttledEvents = from?.throttled.events ?? 0;
    this.#waitedMs = from?.throttled.waitedMs ?? 0;
    this.credits = from?.credits ?? 0;
    this.verifyTooLarge = from?.verifyRequests?.tooLarge ?? 0;
    this.verifySize = from?.verifyRequests === undefined ? null : { size: from.verifyRequests.size, most: from.verifyRequests.most };
    this.latency = new LatencyHistogram(from?.latency);
    this.#activeBefore = from?.activeMs ?? 0;
    this.#now = now;
    this.#series = series;
    this.#startedAt = now();
    this.lastSentMs = this.#startedAt;
    this.#waitsBefore = from?.waits ?? NO_WAITS;
    this.#beyondPlanBefore = from?.beyondPlan ?? 0;
  }

  /** Requests to verify that are not answered, what one takes (0: none was answered yet), and when the last was sent: monotonic milliseconds. */
  get verifyNow(): { readonly inFlight: number; readonly latencyMs: number; readonly lastSentMs: number } {
    const latency = this.meter.steps.get('verify')?.latency;
    const answers = latency?.counts.reduce((sum, count) => sum + count, 0) ?? 0;
    return { ...this.#verify, latencyMs: latency === undefined || answers === 0 ? 0 : (latency.sumS * 1_000) / answers };
  }

  get allCalls(): number {
    let sum = 0;
    for (const count of Object.values(this.calls)) sum += count;
    return sum;
  }

  sent(step: Step): void {
    this.calls[step] = (this.calls[step] ?? 0) + 1;
    this.callsNow++;
    if (step === 'verify') {
      this.#verify.inFlight++;
      this.#verify.lastSentMs = this.#now();
    }
    this.lastSentMs = this.#now();
    this.#series?.sent(this.lastSentMs);
  }

  answered(step: Step, result: CallResult<unknown>): void {
    this.credits += result.meta.credits;
    if (step === 'verify') this.#verify.inFlight--;
    // Where nobody was there it was no call: it can have cost nothing, and `limits.maxCalls` is not to end a job that waits for its service.
    if (wasNeverSent(result)) this.#notSent(step);
    this.meter.answered(step, result.meta);
    if (result.meta.status > 0) this.latency.add(result.meta.latencyMs);
  }

  #notSent(step: Step): void {
    this.calls[step] = (this.calls[step] ?? 0) - 1;
    this.callsNow--;
    this.#series?.notSent();
  }

  retrying(step: Step): void {
    this.retries++;
    this.meter.retrying(step);
  }

  /** A row has left for the output. */
  written(outcome: Outcome): void {
    this.meter.written(outcome);
  }

  throttled({ untilMs, isNew }: ThrottledWait): void {
    if (isNew) this.throttledEvents++;
    const now = this.#now();
    this.#series?.throttled(now, untilMs);
    if (now >= this.#waitsUntil) {
      this.#waitedMs = this.waitedMs;
      this.#waitsFrom = now;
    }
    this.#waitsUntil = Math.max(this.#waitsUntil, untilMs);
  }

  wentDown(): void {
    this.#series?.down(this.#now(), true);
  }

  cameBack(): void {
    this.#series?.down(this.#now(), false);
  }

  /** Waited because the service said "later", up to now: a run that is stopped in the middle of a wait has not waited all of it. */
  get waitedMs(): number {
    return this.#waitedMs + Math.max(0, Math.min(this.#now(), this.#waitsUntil) - this.#waitsFrom);
  }

  /** @param lookups the ledger's totals. @param forgotten what it no longer knows of */
  totals(lookups: { lookups: number; reused: number }, forgotten: RunTotals['lookups'] = { unique: 0, fromLedger: 0 }): RunTotals {
    return {
      calls: { ...this.calls },
      lookups: { unique: lookups.lookups + forgotten.unique, fromLedger: lookups.reused + forgotten.fromLedger },
      retries: this.retries,
      throttled: { events: this.throttledEvents, waitedMs: Math.round(this.waitedMs) },
      waits: addWaits([this.#waitsBefore, this.waitsNow()]),
      beyondPlan: this.#beyondPlanBefore + Math.round(this.beyondPlanNow()),
      credits: this.credits,
      latency: this.latency.toJSON(),
      activeMs: this.#activeBefore + Math.round(this.#now() - this.#startedAt),
      ...(this.verifySize === null ? {} : { verifyRequests: { ...this.verifySize, tooLarge: this.verifyTooLarge } }),
      ...(this.#series === null ? {} : { series: this.#series.keep(this.#now()) }),
    };
  }
}
