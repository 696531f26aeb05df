/**
 * `millrace enrich` and `millrace verify`: a few keys, or a list of them, asked for as a run does it (limiter, pool, steps, ledger), but
 * without a job's output and checkpoint. Results leave in the order of the keys.
 */
import { hash, randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AttemptClient } from '../../client/attempt-client.ts';
import { paceOf } from '../../definition/job-provider.ts';
import type { OneOffSettings } from '../../definition/one-off-choice.ts';
import { Ledger } from '../../ledger/ledger.ts';
import { FileLedger, type RunLedger } from '../../ledger/run-ledger.ts';
import type { CallPool } from '../../pool/call-pool.ts';
import { enrichKey, verifyKeyAsSpelled } from '../../processor/lookup-keys.ts';
import type { LookupOutcome, StepAnswer } from '../../lookup/lookup-outcome.ts';
import { MissQuarantine } from '../../lookup/miss-quarantine.ts';
import { lookupScopes } from '../../processor/scopes.ts';
import { openStep, type OpenStep } from '../../processor/open-steps.ts';
import { MillraceError, withoutResume } from '../../util/errors.ts';
import { ReorderBuffer } from '../../util/reorder-buffer.ts';
import type { StopSignals } from '../../util/stop-signals.ts';
import { scratchFolder } from '../lifecycle/scratch.ts';
import { serviceOrigin } from '../lifecycle/service-origin.ts';
import { Notices } from '../progress/notices.ts';
import { CallBudget } from '../run/call-budget.ts';
import { Counters } from '../run/counters.ts';
import { openCalls, type Calls, type ServiceAccess } from '../run/open-calls.ts';
import { requestPace } from '../run/request-pace.ts';
import { RunState } from '../run/run-state.ts';
import type { Step } from '../../steps/registry.ts';
import { present } from '../../util/assert.ts';

/** A person waits: a 404 of an unknown form is asked about once more after a second. */
const ASK_AGAIN_MS = 1_000;

export interface GivenKey {
  /** Number of its argument or line, from 1. */
  readonly place: number;
  /** Null when it was not UTF-8. */
  readonly text: string | null;
}

/** The result of a key. `answer`: the record as the service sent it, and its own JSON on one line; null unless `matched`. */
export interface OneOffResult {
  readonly key: GivenKey;
  readonly outcome: 'matched' | 'no_match' | 'suppressed' | 'invalid' | 'failed';
  readonly error: string | null;
  readonly answer: StepAnswer<OneOffRecord> | null;
}

type OneOffRecord = Readonly<Record<string, unknown>>;

interface OneOffOptions {
  readonly settings: OneOffSettings;
  readonly step: Step;
  readonly service: ServiceAccess;
  /** Called for each key, in order. */
  readonly write: (result: OneOffResult) => void;
  /** Null when more may be written, else a promise of that. @throws when the reader is gone */
  readonly room: () => Promise<void> | null;
  /** Shows that the service is down, or says "later". */
  readonly notify: (text: string) => void;
  readonly signals: StopSignals;
}

/** Keys that are asked for and not written yet: four full verify requests. */
const WINDOW_KEYS = 4_096;

/** A list may come slowly: after this long without a new key, the keys so far are asked for, milliseconds. */
const IDLE_MS = 200;

/** Advice for the settings of a job: a short list goes without it. */
const JOB_NOTICES: ReadonlySet<string> = new Set(['few_files', 'reset_unreadable']);

/** Asks for every key. @throws MillraceError the first reason to stop early; results known by then are written, as far as in order */
export async function lookUpKeys(keys: AsyncIterator<GivenKey>, options: OneOffOptions): Promise<void> {
  const folder = await scratchFolder(null);
  const ledger = new FileLedger(
    Ledger.open({ path: join(folder, 'ledger'), job: 'one-off', run: randomUUID(), maxAgeDays: 0, now: Date.now }),
  );
  try {
    await new KeyLoop(options, ledger).run(keys);
  } catch (error) {
    throw error instanceof MillraceError ? withoutResume(error) : error;
  } finally {
    await ledger.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The loop of a list of keys: like `RecordLoop`, but its keys come one at a time, and it keeps no state between runs. */
class KeyLoop {
  readonly #options: OneOffOptions;
  readonly #state: RunState;
  readonly #calls: Calls;
  readonly #pool: CallPool;
  readonly #step: OpenStep;
  readonly #results = new ReorderBuffer<OneOffResult>();
  #started = 0;
  #onStop: () => void = () => undefined;
  #wake: (() => void) | null = null;

  constructor(options: OneOffOptions, ledger: RunLedger) {
    this.#options = options;
    const { settings, service, signals, notify } = options;
    const { timeoutMs, domainField } = settings.service;
    const { rpm, windows } = paceOf(settings.service, settings.service.definition.quota);
    const state = new RunState(signals);
    state.stopping.addEventListener('abort', () => {
      this.#onStop();
      this.#moveOn();
    });
    const stopFor = (error: unknown): void => state.stopFor(error);
    const monotonicNow = (): number => performance.now();
    const show = (event: string, text: string): void => (JOB_NOTICES.has(event) ? undefined : notify(text));
    const notices = new Notices({ detail: () => undefined, info: show, warn: show }, settings.limits.maxOutageMs, monotonicNow);
    const counters = new Counters(null, monotonicNow);
    let saidSample = false;
    this.#state = state;
    this.#calls = openCalls({
      provider: settings.service,
      limits: settings.limits,
      access: service,
      makeClient: (connections) => new AttemptClient({ ...service, timeoutMs, domainField, connections }),
      counters,
      budget: new CallBudget({
        maxCalls: settings.limits.maxCalls,
        maxCredits: null,
        counters,
        uncounted: { calls: 0, credits: 0 },
        record: null,
      }),
      notices,
      channels: [{ rpm, ownRpm: rpm, windows, quota: null, share: 1, spent: null }],
      mayCall: () => true,
      hasAnswered: false,
      isRetry: false,
      unfitIsAnswer: false,
      onAnswer: ({ isSample }) => {
        if (isSample !== true || saidSample) return;
        notices.sampleData();
        saidSample = true;
      },
      abort: signals.abort,
      onFatal: stopFor,
    });
    this.#pool = present(this.#calls.channels[0], 'a list of keys has one channel').pool;
    const run = randomUUID();
    const keepNothing = async (): Promise<void> => undefined;
    const context = {
      client: this.#calls.client,
      pool: this.#pool,
      ledger,
      // A person reads each answer: many misses in a row are no reason to stop.
      quarantine: new MissQuarantine({ trusted: true, askAgainMs: ASK_AGAIN_MS, onDistrust: () => undefined }),
      idempotencyKey: (body: string) => hash('sha256', `${run}\n${body}`, 'base64url'),
      onSettled: () => this.#moveOn(),
      onFatal: stopFor,
      onPending: (addresses: number, waitMs: number) => notices.pending(addresses, waitMs),
      paceOf: (largest: number, isProven: boolean) =>
        requestPace({
          step: options.step,
          timeoutMs,
          largest,
          isProven,
          counters,
          notices,
          keepAnswers: keepNothing,
          keepTotals: keepNothing,
          onFatal: stopFor,
        }),
    };
    const origin = serviceOrigin(settings.service.baseUrl);
    const scopes = lookupScopes((step, scope) => ledger.scope(origin, step, scope), domainField);
    this.#step = openStep(options.step, { contextOf: () => context, scopes }, settings.verify);
  }

  async run(keys: AsyncIterator<GivenKey>): Promise<void> {
    try {
      this.#state.enter('running');
      await this.#askAll(keys);
    } catch (error) {
      this.#state.stopFor(error);
    } finally {
      this.#state.enter('draining');
      this.#step.stop();
      await this.#calls.close();
      this.#state.close();
    }
    if (this.#state.isStopping) throw this.#state.reason;
  }

  async #askAll(keys: AsyncIterator<GivenKey>): Promise<void> {
    while (!this.#state.isStopping) {
      const next = await this.#next(keys);
      if (next === null || next.done === true) break;
      this.#ask(next.value, this.#started++);
      for (let wait = this.#room(); wait !== null && !this.#state.isStopping; wait = this.#room()) await this.#unlessStopped(wait);
    }
    while (!this.#state.isStopping && this.#results.released < this.#started) await this.#settled();
    await this.#options.room();
  }

  /** The next key, or null when the run stops first. While no key comes, addresses that wait for company go. */
  async #next(keys: AsyncIterator<GivenKey>): Promise<IteratorResult<GivenKey> | null> {
    const idle = setInterval(() => {
      if (this.#step.callsPending === 0) this.#step.flush();
    }, IDLE_MS);
    try {
      return await this.#unlessStopped(keys.next());
    } finally {
      clearInterval(idle);
    }
  }

  /** The result, or null when the run stops first. `Promise.race` with one lasting promise would keep every key until the end. */
  #unlessStopped<T>(work: Promise<T>): Promise<T | null> {
    return new Promise((resolve, reject) => {
      this.#onStop = () => resolve(null);
      if (this.#state.isStopping) resolve(null);
      work.then(resolve, reject);
    });
  }

  #ask(key: GivenKey, number: number): void {
    const done = (outcome: OneOffResult['outcome'], error: string | null, answer: OneOffResult['answer']): void =>
      this.#results.put(number, { key, outcome, error, answer }, (result) => this.#options.write(result));
    const answered = (found: LookupOutcome<OneOffRecord>): void =>
      found.kind === 'hit'
        ? done('matched', null, found.answer)
        : found.kind === 'failed'
          ? done('failed', found.code, null)
          : done(found.kind === 'miss' ? 'no_match' : 'suppressed', null, null);
    if (key.text === null) {
      done('invalid', 'bad_encoding', null);
    } else if (this.#options.step === 'verify') {
      const address = verifyKeyAsSpelled(key.text);
      if (address === null) done('invalid', 'bad_email', null);
      else this.#step.ask(address, answered);
    } else {
      const lookup = /[@\uff20\ufe6b]/.test(key.text) ? enrichKey(key.text, '') : enrichKey('', key.text);
      if (typeof lookup === 'string') done('invalid', lookup === 'bad_email' ? lookup : 'bad_domain', null);
      else this.#step.ask(lookup, answered);
    }
  }

  #room(): Promise<void> | null {
    return this.#started - this.#results.released >= WINDOW_KEYS ? this.#settled() : (this.#pool.room() ?? this.#options.room());
  }

  /** Resolves when a lookup is settled. With nothing in flight, addresses that wait for company go alone. */
  #settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#step.callsPending === 0) this.#step.flush();
    });
  }

  #moveOn(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}
