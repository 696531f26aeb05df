import type { RunTotals } from '../../checkpoint/run-totals.ts';
import type { PauseCause, ThrottledWait } from '../../limiter/limiter.ts';
import type { CallSize, PoolEvents, SentCall } from '../../pool/call-pool-options.ts';
import { TICKET_LOST, type BatchItem } from '../../client/provider-client.ts';
import type { CallAnswer } from '../../pool/call.ts';
import { isObject } from '../../util/is-object.ts';
import { wasNeverSent } from '../../pool/circuit.ts';
import type { KeptSize } from '../../lookup/request-size.ts';
import type { RecordOutcome } from '../../processor/result.ts';
import type { CallSeries } from '../../checkpoint/call-series.ts';
import type { StoredSlots } from '../../checkpoint/call-slots.ts';
import { NotableCallLog } from '../../checkpoint/notable-calls.ts';
import { LatencyHistogram } from './latency-histogram.ts';
import { Meter } from './meter.ts';
import { PromisedLookups } from './promised-lookups.ts';
import { addWaits, NO_WAITS, type WaitTotals } from '../../checkpoint/wait-log.ts';
import type { Step, ByStep } from '../../steps/registry.ts';

/** Counts calls and their results, over all resumes of a run. No other part counts calls. */
export class Counters implements Pick<PoolEvents, 'sent' | 'rejoined' | 'answered' | 'retrying' | 'wentDown' | 'cameBack'> {
  readonly calls: Record<string, number>;
  retries: number;
  throttledEvents: number;
  /** Credits that answers have named. */
  credits: number;
  /** The same by step. */
  readonly creditsBy: Record<string, number>;
  /** Credits that calls without an answer may have cost, such as those that broke off, and matches whose answer names none. */
  #creditsPerhaps = 0;
  /** The part of answers that did not arrive or cannot be read, over all resumes. */
  #creditsLost: number;
  readonly #promised: PromisedLookups;
  /** By step: keys in flight, and the most credits that a key has cost. */
  readonly #inFlight = new Map<Step, { keys: number; creditsEach: number }>();
  readonly #requestSizes: Map<string, SizeCounts>;
  readonly latency: LatencyHistogram;
  /** Answers of this run came from sample data. */
  isSample: boolean;
  readonly #notable: NotableCallLog;
  /** Calls of this execution, for the rate on the progress line. */
  callsNow = 0;
  readonly #verify = { inFlight: 0, lastSentMs: 0 };
  /** When the last call was sent, or when the counting began: monotonic milliseconds. */
  lastSentMs: number;
  /** The waits of this execution; empty without a silence watch. */
  waitsNow: () => WaitTotals = () => NO_WAITS;
  /** Requests that the service offered to this execution beyond the plan's rate. */
  beyondPlanNow: () => number = () => 0;
  /** Counts of this execution, as a monitor shows them. */
  readonly meter = new Meter();
  readonly #throttledBy: Partial<Record<PauseCause, number>>;
  /** The sum of earlier waits, and the start and end of the latest: monotonic milliseconds. */
  #waitedMs: number;
  #waitsFrom = 0;
  #waitsUntil = 0;
  readonly #creditsEach: ByStep<number>;
  /** The last run was killed: calls that it had in flight may be paid for, and are answered again at no charge. */
  #isAfterKill = false;
  /** Credits that such answers may have cost. A service that charges nothing at all answers alike. */
  #paidBefore = 0;
  readonly #activeBefore: number;
  readonly #startedAt: number;
  readonly #now: () => number;
  readonly #series: CallSeries | null;
  readonly #waitsBefore: WaitTotals;
  readonly #beyondPlanBefore: number;

  /**
   * @param now monotonic milliseconds. @param series null when no report shows calls over time
   * @param creditsEach the most credits that a key costs by what is known before any answer; absent: one
   */
  constructor(from: RunTotals | null, now: () => number, series: CallSeries | null = null, creditsEach: ByStep<number> = {}) {
    this.#creditsEach = creditsEach;
    this.calls = { ...from?.calls };
    this.retries = from?.retries ?? 0;
    this.throttledEvents = from?.throttled.events ?? 0;
    this.#throttledBy = { ...from?.throttled.causes };
    this.#waitedMs = from?.throttled.waitedMs ?? 0;
    this.credits = from?.credits ?? 0;
    this.creditsBy = { ...from?.creditsBy };
    this.#creditsLost = from?.creditsLost ?? 0;
    this.#promised = new PromisedLookups(from?.promised);
    const sizes = { ...from?.requestSizes, ...(from?.verifyRequests === undefined ? {} : { verify: from.verifyRequests }) };
    this.#requestSizes = new Map(
      Object.entries(sizes).map(([step, { size, most, tooLarge }]) => [step, { kept: { size, most }, tooLarge }]),
    );
    this.isSample = from?.isSample === true;
    this.latency = new LatencyHistogram(from?.latency);
    this.#notable = new NotableCallLog(from?.notable);
    this.#activeBefore = from?.activeMs ?? 0;
    this.#now = now;
    this.#series = series;
    this.#startedAt = now();
    this.lastSentMs = this.#startedAt;
    this.#waitsBefore = from?.waits ?? NO_WAITS;
    this.#beyondPlanBefore = from?.beyondPlan ?? 0;
  }

  /**
   * Verify requests in flight, their mean latency (0 before the first answer), and when the last was sent: monotonic milliseconds.
   */
  get verifyNow(): { readonly inFlight: number; readonly latencyMs: number; readonly lastSentMs: number } {
    const latency = this.meter.steps.get('verify')?.latency;
    const answers = latency?.counts.reduce((sum, count) => sum + count, 0) ?? 0;
    return { ...this.#verify, latencyMs: latency === undefined || answers === 0 ? 0 : (latency.sumS * 1_000) / answers };
  }

  /** The size of a step's requests for several lookups. */
  requestSize(step: Step): SizeCounts {
    const known = this.#requestSizes.get(step);
    if (known !== undefined) return known;
    const none: SizeCounts = { kept: null, tooLarge: 0 };
    this.#requestSizes.set(step, none);
    return none;
  }

  /** Calls over time, over all resumes; null where none are counted. */
  get series(): StoredSlots | null {
    return this.#series?.keep(this.#now()) ?? null;
  }

  /** Running time over all resumes, milliseconds. */
  get activeMs(): number {
    return this.#activeBefore + Math.round(this.#now() - this.#startedAt);
  }

  get allCalls(): number {
    let sum = 0;
    for (const count of Object.values(this.calls)) sum += count;
    return sum;
  }

  /** Lookups that were promised for later; undefined where none was. */
  get promised(): RunTotals['promised'] {
    return this.#promised.toJSON();
  }

  /** Credits that the run has spent, or may have spent: also those of calls in flight and of answers that are promised for later. */
  get creditsAtMost(): number {
    let sum = this.credits + this.#creditsPerhaps + this.#promised.reserved((step) => this.#dearest(step));
    for (const { keys, creditsEach } of this.#inFlight.values()) sum += keys * creditsEach;
    return sum;
  }

  /** The most credits that a call costs, by what the service has charged so far; at first one a key. Those of a poll are reserved. */
  costAtMost({ step, keys, isPoll }: CallSize): number {
    return isPoll === true ? 0 : keys * this.#dearest(step);
  }

  #dearest(step: Step): number {
    return this.#inFlight.get(step)?.creditsEach ?? this.#creditsEach[step] ?? 1;
  }

  rejoined({ step, keys }: CallSize, charged: number): void {
    this.#promised.rejoined(step, keys, charged);
  }

  sent({ step, keys, isPoll }: CallSize): void {
    if (isPoll !== true) this.#flying(step).keys += keys;
    this.calls[step] = (this.calls[step] ?? 0) + 1;
    this.callsNow++;
    if (step === 'verify') {
      this.#verify.inFlight++;
      this.#verify.lastSentMs = this.#now();
    }
    this.lastSentMs = this.#now();
    this.#series?.sent(this.lastSentMs);
  }

  answered(call: SentCall, result: CallAnswer<unknown>): void {
    const { step } = call;
    this.#notable.answered(call, result);
    this.#charge(call, result);
    if (step === 'verify') this.#verify.inFlight--;
    // Without a connection nothing was sent: it cost nothing, and `limits.maxCalls` must not end a job that waits for its service.
    if (wasNeverSent(result)) this.#notSent(step);
    this.meter.answered(step, result.meta);
    if (result.meta.status > 0) this.latency.add(result.meta.latencyMs);
  }

  #flying(step: Step): { keys: number; creditsEach: number } {
    let flying = this.#inFlight.get(step);
    if (flying === undefined) this.#inFlight.set(step, (flying = { keys: 0, creditsEach: this.#creditsEach[step] ?? 1 }));
    return flying;
  }

  #charge(call: SentCall, result: CallAnswer<unknown>): void {
    const { step, keys, isPoll = false, charged = 0 } = call;
    const { credits, status } = result.meta;
    const flying = this.#flying(step);
    if (!isPoll) flying.keys -= keys;
    flying.creditsEach = Math.max(flying.creditsEach, (charged + credits) / keys);
    this.credits = exact(this.credits + credits);
    this.creditsBy[step] = exact((this.creditsBy[step] ?? 0) + credits);
    this.#promise(call, result);
    if (this.#isAfterKill && !isPoll && call.attempt === 1 && credits === 0 && result.meta.namesNoCredits !== true)
      this.#paidBefore += matchesOf(result) * flying.creditsEach;
    // Without an answer the service may have charged all the same, and an answer that is repeated for its key names no credits.
    if (status === 0 && !isPoll && !wasNeverSent(result)) this.#lost(keys * flying.creditsEach);
    else if (result.meta.namesNoCredits !== true) return;
    else if (isUnreadable(result) && !isPoll) this.#lost(keys * flying.creditsEach);
    // Some items of a batch may have named theirs.
    else this.#creditsPerhaps += Math.max(0, matchesOf(result) * flying.creditsEach - charged - credits);
  }

  /**
   * The last run was killed before its last checkpoint. @param unknown credits that its calls in flight may have cost, where no answer will
   * tell
   */
  afterKill(unknown: number): void {
    this.#isAfterKill = true;
    this.#creditsLost = exact(this.#creditsLost + unknown);
  }

  /** Nobody can know what an answer has cost that did not arrive or cannot be read. */
  #lost(credits: number): void {
    this.#creditsPerhaps += credits;
    this.#creditsLost = exact(this.#creditsLost + credits);
  }

  /** Reserves what a promise may cost until its answer comes. A lost ticket says nothing of its cost, which stays reserved. */
  #promise({ step, keys, isPoll = false, charged = 0 }: SentCall, result: CallAnswer<unknown>): void {
    const { credits, status } = result.meta;
    if (result.kind === 'pending') {
      if (isPoll) this.#promised.charged(step, credits);
      else this.#promised.promised(step, keys, credits);
    } else if (isPoll && status > 0 && endsPromise(result)) this.#promised.answered(step, keys, charged);
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

  /** A row was given to the writer. */
  written(outcome: RecordOutcome): void {
    this.meter.written(outcome);
  }

  throttled({ untilMs, isNew, cause }: ThrottledWait): void {
    if (isNew) {
      this.throttledEvents++;
      this.#throttledBy[cause] = (this.#throttledBy[cause] ?? 0) + 1;
    }
    const now = this.#now();
    this.#series?.throttled(now, untilMs);
    if (now >= this.#waitsUntil) {
      this.#waitedMs = this.waitedMs;
      this.#waitsFrom = now;
    }
    this.#waitsUntil = Math.max(this.#waitsUntil, untilMs);
  }

  /** An answer came from sample data. */
  sampleData(): void {
    this.isSample = true;
  }

  wentDown(): void {
    this.#series?.down(this.#now(), true);
  }

  cameBack(): void {
    this.#series?.down(this.#now(), false);
  }

  /** Time waited because the service said "later", up to now: a run that stops in the middle has not waited all of it. */
  get waitedMs(): number {
    return this.#waitedMs + Math.max(0, Math.min(this.#now(), this.#waitsUntil) - this.#waitsFrom);
  }

  /** @param lookups the ledger's totals. @param forgotten lookups that the ledger no longer knows */
  totals(lookups: { lookups: number; reused: number }, forgotten: RunTotals['lookups'] = { unique: 0, fromLedger: 0 }): RunTotals {
    const creditsLost = exact(this.#creditsLost + (this.credits > 0 ? this.#paidBefore : 0));
    return {
      calls: { ...this.calls },
      lookups: { unique: lookups.lookups + forgotten.unique, fromLedger: lookups.reused + forgotten.fromLedger },
      retries: this.retries,
      throttled: {
        events: this.throttledEvents,
        waitedMs: Math.round(this.waitedMs),
        ...(this.throttledEvents === 0 ? {} : { causes: { ...this.#throttledBy } }),
      },
      waits: addWaits([this.#waitsBefore, this.waitsNow()]),
      beyondPlan: this.#beyondPlanBefore + Math.round(this.beyondPlanNow()),
      credits: this.credits,
      ...(this.promised === undefined ? {} : { promised: this.promised }),
      ...(creditsLost === 0 ? {} : { creditsLost }),
      latency: this.latency.toJSON(),
      activeMs: this.activeMs,
      notable: this.#notable.toJSON(),
      ...this.#keptSizes(),
      ...(this.isSample ? { isSample: true as const } : {}),
      ...(this.#series === null ? {} : { series: this.#series.keep(this.#now()) }),
    };
  }

  #keptSizes(): Pick<RunTotals, 'verifyRequests' | 'requestSizes'> {
    const known = [...this.#requestSizes].flatMap(([step, { kept, tooLarge }]) =>
      kept === null ? [] : [[step, { ...kept, tooLarge }] as const],
    );
    const { verify, ...others } = Object.fromEntries(known);
    return {
      ...(verify === undefined ? {} : { verifyRequests: verify }),
      ...(Object.keys(others).length === 0 ? {} : { requestSizes: others }),
    };
  }
}

/** Whether an answer to a poll says what the lookup has cost. */
function endsPromise(result: CallAnswer<unknown>): boolean {
  return ['ok', 'miss', 'suppressed'].includes(result.kind) || (result.kind === 'rejected' && result.code !== TICKET_LOST);
}

/** A success that cannot be used, such as one that broke off: the service may have charged for what it says. */
function isUnreadable({ kind, meta: { status } }: CallAnswer<unknown>): boolean {
  return status >= 200 && status < 300 && (kind === 'retryable' || kind === 'rejected');
}

/** Lookups of a call that were answered with something to pay for. */
function matchesOf(result: CallAnswer<unknown>): number {
  if (result.kind !== 'ok') return result.kind === 'rejected' && result.stored !== undefined ? 1 : 0;
  const { value } = result;
  if (Array.isArray(value)) return (value as readonly BatchItem[]).reduce((sum, item) => sum + (item === null ? 0 : matchesOf(item)), 0);
  return isObject(value) && value['byEmail'] instanceof Map ? value['byEmail'].size : 1;
}

/** Requests of a step that carry several lookups. */
export interface SizeCounts {
  /** The size with which a resume begins; null before the first answer. */
  kept: KeptSize | null;
  /** Requests that were too large for the service, such as those that ran into the time limit. */
  tooLarge: number;
}

/** Sums of fractions of a credit, such as 0.2, without the rest that binary fractions leave. */
export function exact(credits: number): number {
  return Math.round(credits * 1e6) / 1e6;
}
