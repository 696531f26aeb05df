/**
 * `millrace enrich` and `millrace verify`: a few keys, or a list of them, asked for in the manner of a run (its limiter, pool, steps and
 * ledger), without a job's output and checkpoint. Answers come out in the order of the keys.
 */
import { hash, randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LowWatermark } from '../checkpoint/low-watermark.ts';
import { DataServiceClient } from '../client/data-service-client.ts';
import type { RotatingKey } from '../client/rotating-key.ts';
import { MillraceError, withoutResume } from '../errors.ts';
import { Ledger } from '../ledger/ledger.ts';
import { FileLedger, type RunLedger } from '../ledger/run-ledger.ts';
import { Limiter } from '../limiter/limiter.ts';
import { AUTO_BOUNDS } from '../pool/adaptive-concurrency.ts';
import { CallPool } from '../pool/call-pool.ts';
import { EnrichStep } from '../processor/enrich.ts';
import { enrichKey, verifyKeyAsSpelled } from '../processor/keys.ts';
import { lookupScopes } from '../processor/scopes.ts';
import { TrustGate } from '../processor/trust-gate.ts';
import { VerifyStep } from '../processor/verify.ts';
import { CallBudget } from './call-budget.ts';
import { Counters } from './counters.ts';
import type { OneOffSettings } from './definition/one-off-choice.ts';
import { Notices } from './notices.ts';
import { renewed } from './open-calls.ts';
import { connectionsAllowed } from './open-files.ts';
import { requestPace } from './request-pace.ts';
import { DRAIN_MS } from './run-job.ts';
import { scratchFolder } from './scratch.ts';
import { serviceOrigin } from './service-origin.ts';
import type { Step } from './types.ts';

export interface GivenKey {
  /** Its argument or line, from 1. */
  readonly place: number;
  /** Null: it was no UTF-8. */
  readonly text: string | null;
}

/** What became of a key. `answer`: the record as the service sent it, and its own JSON on one line; null unless `matched`. */
export interface OneOffResult {
  readonly key: GivenKey;
  readonly outcome: 'matched' | 'no_match' | 'suppressed' | 'invalid' | 'failed';
  readonly error: string | null;
  readonly answer: { readonly record: Readonly<Record<string, unknown>>; readonly text: string } | null;
}

export interface OneOffParts {
  readonly settings: OneOffSettings;
  readonly step: Step;
  readonly service: { readonly baseUrl: string; readonly apiKey: RotatingKey };
  /** Called for each key, in order. */
  readonly write: (result: OneOffResult) => void;
  /** Null when more may be written, else a promise of that. @throws when nobody reads any more */
  readonly room: () => Promise<void> | null;
  /** For whoever waits: the service is down, or says "later". */
  readonly tell: (text: string) => void;
  /** The first signal: ask for nothing more, and write what is answered. Its reason is the error that this ends with. */
  readonly drain: AbortSignal;
  /** The second: cancel what is in flight. */
  readonly abort: AbortSignal;
}

/** Keys that are asked for and not written yet: four full verify requests. */
const WINDOW_KEYS = 4_096;

/** Whoever gives the keys may take their time: after so long without one, what was given is asked for, milliseconds. */
const IDLE_MS = 200;

/** Asks for every key. @throws MillraceError whatever ended it early; what was answered by then is written, as far as the order lets it */
export async function lookUp(keys: AsyncIterator<GivenKey>, parts: OneOffParts): Promise<void> {
  const folder = await scratchFolder(null);
  const ledger = new FileLedger(Ledger.open({ path: join(folder, 'ledger'), job: 'one-off', run: randomUUID(), maxAgeDays: 0, now: Date.now }));
  try {
    await new OneOff(parts, ledger).run(keys);
  } catch (error) {
    throw error instanceof MillraceError ? withoutResume(error) : error;
  } finally {
    await ledger.close();
    await rm(folder, { recursive: true, force: true });
  }
}

class OneOff {
  readonly #parts: OneOffParts;
  readonly #client: DataServiceClient;
  readonly #pool: CallPool;
  readonly #enrich: EnrichStep;
  readonly #verify: VerifyStep;
  readonly #watermark = new LowWatermark<OneOffResult>();
  #started = 0;
  #stop: { error: unknown } | null = null;
  #stopped: () => void = () => undefined;
  #wake: (() => void) | null = null;

  constructor(parts: OneOffParts, ledger: RunLedger) {
    this.#parts = parts;
    const { settings: { service, limits: { maxCalls, maxWaitMs, maxOutageMs } }, service: { baseUrl, apiKey }, tell } = parts;
    const monotonicNow = (): number => performance.now();
    const notices = new Notices({ detail: () => undefined, info: (_event, text) => tell(text), warn: (_event, text) => tell(text) }, maxOutageMs, monotonicNow);
    const counters = new Counters(null, monotonicNow);
    const budget = new CallBudget({ maxCalls, counters, uncounted: 0, record: null });
    const mostAtOnce = connectionsAllowed(service.embedded);
    const wanted = service.concurrency === 'auto' ? AUTO_BOUNDS.max : service.concurrency;
    this.#client = new DataServiceClient({ baseUrl, apiKey, timeoutMs: service.timeoutMs, domainField: service.domainField, connections: Math.min(wanted, mostAtOnce) });
    this.#pool = new CallPool({
      limiter: new Limiter({ rpm: service.rpm, windows: service.windows, monotonicNow, wallNow: Date.now, held: () => apiKey.reading, onThrottled: (wait) => notices.throttled(wait) }),
      concurrency: service.concurrency,
      mostAtOnce,
      rpm: service.rpm,
      mayCall: () => apiKey.reading ?? budget.ask(),
      renewKey: (version) => renewed(apiKey, version, notices),
      limitReached: () => budget.reached(),
      hasAnswered: false,
      asksAgain: false,
      maxWaitMs,
      maxOutageMs,
      events: { sent: (step) => counters.sent(step), answered: (step, result) => counters.answered(step, result), retrying: () => undefined, wentDown: (code, detail, lastLookups) => notices.wentDown(code, detail, lastLookups), cameBack: (downMs) => notices.cameBack(downMs) },
      onFatal: (error) => this.#stopFor(error),
      monotonicNow,
      random: Math.random,
    });
    const run = randomUUID();
    const context = {
      client: this.#client, pool: this.#pool, ledger,
      // A person reads each answer: a row of misses is no reason to stop.
      gate: new TrustGate({ trusted: true, onDistrust: () => undefined }),
      idempotencyKey: (body: string) => hash('sha256', `${run}\n${body}`, 'base64url'),
      onProgress: () => this.#moveOn(),
      onPending: (addresses: number, waitMs: number) => notices.pending(addresses, waitMs),
    };
    const scopes = lookupScopes((step, options) => ledger.scope(serviceOrigin(parts.settings), step, options), service.domainField);
    this.#enrich = new EnrichStep(context, scopes);
    const kept = async (): Promise<void> => undefined;
    const pace = requestPace({ timeoutMs: service.timeoutMs, counters, notices, keepAnswers: kept, keepTotals: kept, onFatal: (error) => this.#stopFor(error) });
    this.#verify = new VerifyStep(context, scopes.verify, { ...parts.settings.verify, pace });
  }

  async run(keys: AsyncIterator<GivenKey>): Promise<void> {
    const { drain, abort } = this.#parts;
    const onDrain = (): void => this.#stopFor(drain.reason);
    const onAbort = (): void => void this.#client.destroy();
    drain.addEventListener('abort', onDrain, { once: true });
    abort.addEventListener('abort', onAbort, { once: true });
    if (drain.aborted) onDrain();
    try {
      await this.#askAll(keys);
    } catch (error) {
      this.#stopFor(error);
    } finally {
      this.#verify.stop();
      const timer = setTimeout(onAbort, DRAIN_MS);
      await this.#pool.drain();
      clearTimeout(timer);
      drain.removeEventListener('abort', onDrain);
      abort.removeEventListener('abort', onAbort);
      await this.#client.close();
    }
    if (this.#stop !== null) throw this.#stop.error;
  }

  async #askAll(keys: AsyncIterator<GivenKey>): Promise<void> {
    while (this.#stop === null) {
      const next = await this.#next(keys);
      if (next === null || next.done === true) break;
      this.#ask(next.value, this.#started++);
      for (let wait = this.#room(); wait !== null && this.#stop === null; wait = this.#room()) await this.#unlessStopped(wait);
    }
    while (this.#stop === null && this.#watermark.watermark < this.#started) await this.#progress();
    await this.#parts.room();
  }

  /** The next key, or null when this stops first. Addresses that wait for company go while nobody gives another key. */
  async #next(keys: AsyncIterator<GivenKey>): Promise<IteratorResult<GivenKey> | null> {
    const idle = setInterval(() => {
      if (this.#verify.callsPending === 0) this.#verify.flush();
    }, IDLE_MS);
    try {
      return await this.#unlessStopped(keys.next());
    } finally {
      clearInterval(idle);
    }
  }

  /** What comes, or null when this stops first. A race with one promise for all of them would keep every key until the end. */
  #unlessStopped<T>(work: Promise<T>): Promise<T | null> {
    return new Promise((resolve, reject) => {
      this.#stopped = () => resolve(null);
      if (this.#stop !== null) resolve(null);
      work.then(resolve, reject);
    });
  }

  #ask(key: GivenKey, number: number): void {
    const done = (outcome: OneOffResult['outcome'], error: string | null, answer: OneOffResult['answer']): void =>
      this.#watermark.put(number, { key, outcome, error, answer }, (result) => this.#parts.write(result));
    if (key.text === null) {
      done('invalid', 'bad_encoding', null);
    } else if (this.#parts.step === 'verify') {
      const address = verifyKeyAsSpelled(key.text);
      if (address === null) done('invalid', 'bad_email', null);
      else this.#verify.ask(address.key, (found) => (found.kind === 'verdict' ? done('matched', null, found.answer) : found.kind === 'suppressed' ? done('suppressed', null, null) : done('failed', found.code, null)), address.spelled);
    } else {
      const lookup = /[@\uff20\ufe6b]/.test(key.text) ? enrichKey(key.text, '') : enrichKey('', key.text);
      if (typeof lookup === 'string') done('invalid', lookup === 'bad_email' ? lookup : 'bad_domain', null);
      else this.#enrich.ask(lookup, (found) => (found.kind === 'hit' ? done('matched', null, found.answer) : found.kind === 'failed' ? done('failed', found.code, null) : done(found.kind === 'miss' ? 'no_match' : 'suppressed', null, null)));
    }
  }

  #room(): Promise<void> | null {
    return this.#started - this.#watermark.watermark >= WINDOW_KEYS ? this.#progress() : (this.#pool.room() ?? this.#parts.room());
  }

  /** Something was settled. What waits for company goes alone when nothing else is in flight. */
  #progress(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#verify.callsPending === 0) this.#verify.flush();
    });
  }

  #moveOn(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  #stopFor(error: unknown): void {
    this.#stop ??= { error };
    this.#stopped();
    this.#moveOn();
  }
}
