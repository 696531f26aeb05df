import type { RecordAnswer } from '../client/attempt-client.ts';
import type { LedgerAnswer, LedgerEntry } from '../ledger/ledger.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import type { LookupForm, StepLookup } from './lookup-form.ts';
import type { LookupInFlight } from './lookup-in-flight.ts';
import { fromLedger, missAsFailure, unavailable, type FailedLookup, type LookupOutcome } from './lookup-outcome.ts';
import type { QuarantinedAnswer } from './miss-quarantine.ts';
import type { StepContext } from './step-context.ts';

interface Delivery<L, R> {
  readonly one: LookupInFlight<L, R>;
  readonly answer: LedgerAnswer;
  readonly outcome: LookupOutcome<R>;
}

/** Entries that go into the ledger with an answer. */
interface WithAnswer {
  /** See `FailedLookup.note`. */
  readonly note?: string | undefined;
  /** The notes about other parts of the same request, where the answer is delivered later than the others. */
  readonly beside?: () => readonly LedgerEntry[];
}

/** Answers of this run that no rule takes: of more, the oldest is asked again if another record has the same key. */
export const MOST_UNFIT = 10_000;

/** The lookups of a step that have no answer yet. An answer goes into the ledger, and then to the records that wait for it. */
export class LookupAnswers<L extends StepLookup, R> {
  readonly #context: StepContext;
  readonly #form: LookupForm<L, R>;
  readonly #inFlight = new Map<string, LookupInFlight<L, R>>();
  /** Keys whose answers are in quarantine, and keys whose kept answers are being read. */
  readonly #held = new Set<string>();
  readonly #reading = new Set<string>();
  /** Keys whose answers of this run no rule takes, the oldest first: only the next run asks them again. */
  readonly #unfit = new Set<string>();
  /** Answers of one request, which go into the ledger together; null outside of such a request. */
  #together: Delivery<L, R>[] | null = null;
  #isStopped = false;
  /** Asks for a lookup once more; set by its step. `unfit`: the kept answer that no rule takes; null after a 404. */
  onAskAgain: (one: LookupInFlight<L, R>, unfit: string | null) => void = () => undefined;

  constructor(context: StepContext, form: LookupForm<L, R>) {
    this.#context = context;
    this.#form = form;
  }

  /** Kept answers that are being read. */
  get reading(): number {
    return this.#reading.size;
  }

  find(key: string): LookupInFlight<L, R> | undefined {
    return this.#inFlight.get(key);
  }

  add(one: LookupInFlight<L, R>): void {
    this.#inFlight.set(one.lookup.key, one);
  }

  /** A call for this lookup alone has ended, or its item of a request for several was answered. */
  settle(one: LookupInFlight<L, R>, settled: SettledCall<RecordAnswer<R>>, { note, beside }: WithAnswer = {}): void {
    const { quarantine: gate } = this.#context;
    switch (settled.kind) {
      case 'ok': {
        gate.confirm();
        const { record, text, stored } = settled.value;
        const kind = this.#form.isSettled?.(record) === false ? 'unsettled' : 'hit';
        this.#deliver(
          one,
          { kind, text: stored ?? text },
          { kind: 'hit', answer: stored === undefined ? settled.value : { record, text } },
        );
        return;
      }
      case 'miss':
      case 'suppressed': {
        const { kind, status, form, stored } = settled;
        const outcome = kind === 'miss' && !this.#form.mayMiss ? missAsFailure(settled) : { kind };
        const answer: LedgerAnswer = outcome.kind === 'miss' && stored !== undefined ? { kind: 'miss', text: stored } : outcome;
        if (status >= 400) {
          const doubtful = { ...this.#named(one), said: `${status} ${kind}`, refused: false, answer: outcome };
          if (form === undefined || this.#isMiss(one, form)) this.quarantine(one, doubtful, beside, answer);
          else gate.prove({ ...doubtful, form }, () => this.#askAgain(one));
        } else {
          gate.confirm();
          this.#deliver(one, answer, outcome);
        }
        return;
      }
      case 'failed': {
        const { code, attempts, requestId } = settled;
        const failed = { kind: 'failed', code, attempts, requestId } as const;
        if (settled.stored !== undefined) {
          gate.confirm();
          // Rules have taken the answers of other failures, so these are never asked again.
          if (code === 'bad_shape') this.#noteUnfit(one.lookup.key);
          this.#deliver(one, { kind: 'hit', text: settled.stored }, failed);
        } else if (settled.rejected) {
          this.quarantine(one, { ...this.#named(one), said: `${settled.status} ${code}`, refused: true, answer: failed }, beside);
        } else this.#deliver(one, note === undefined ? failed : { ...failed, note }, failed);
        return;
      }
      default:
        settled satisfies never;
    }
  }

  /** Whether a 404 that others may send, too, is a miss. Otherwise the lookup is asked once more. */
  #isMiss(one: LookupInFlight<L, R>, form: string): boolean {
    const { quarantine } = this.#context;
    if (one.missed !== null) quarantine.missedTwice(one.missed, form);
    if (one.missed !== null || !this.#form.mayMiss || quarantine.isUsualMiss(form)) return true;
    one.missed = form;
    return false;
  }

  #askAgain(one: LookupInFlight<L, R>, unfit: string | null = null): void {
    // The provider may have been given up meanwhile.
    if (this.find(one.lookup.key) === one) this.onAskAgain(one, unfit);
  }

  #noteUnfit(key: string): void {
    const [oldest] = this.#unfit;
    if (oldest !== undefined && this.#unfit.size >= MOST_UNFIT) this.#unfit.delete(oldest);
    this.#unfit.add(key);
  }

  /** Judges a request for several that ended without answers. A request that failed on the way says nothing about its lookups. */
  judgeTogether(settled: Exclude<SettledCall<unknown>, { kind: 'ok' }>): void {
    const { quarantine } = this.#context;
    if (settled.kind !== 'failed') quarantine.judge(`${settled.status} ${settled.kind}`, null);
    else if (settled.rejected) quarantine.refuse(`${settled.status} ${settled.code}`, null);
  }

  /** @param beside see `WithAnswer` @param entry for the ledger, where it has more than the checkpoint needs */
  quarantine(
    one: LookupInFlight<L, R>,
    doubtful: QuarantinedAnswer,
    beside: () => readonly LedgerEntry[] = () => [],
    entry: LedgerAnswer | null = null,
  ): void {
    const { key } = doubtful;
    const answer =
      doubtful.answer.kind === 'miss' && !this.#form.mayMiss ? missAsFailure({ attempts: 0, requestId: null }) : doubtful.answer;
    this.#held.add(key);
    const deliver = (): void => {
      this.#held.delete(key);
      this.#deliver(one, entry ?? answer, answer, beside);
    };
    this.#context.quarantine.quarantine(doubtful, deliver, one.missed !== null);
  }

  /** Settles the lookups of one request: their answers become durable together, and with them the notes about those left open. */
  together(settleAll: () => void, notes: (hasAnswers: boolean) => readonly LedgerEntry[]): void {
    const all: Delivery<L, R>[] = [];
    this.#together = all;
    settleAll();
    this.#together = null;
    const entries = [...all.map(({ one, answer }) => this.entry(one, answer)), ...notes(all.length > 0)];
    if (entries.length > 0) this.#context.ledger.put(entries);
    for (const { one, outcome } of all) this.tell(one, outcome);
  }

  /** Gives a kept answer to the records that wait for it. A provider may have to read it first. */
  tellKept(one: LookupInFlight<L, R>, known: LedgerAnswer): void {
    const text = this.textToRead(known);
    if (text === null) this.tell(one, this.kept(known));
    else void this.#read(one, text);
  }

  /** The text of a kept answer that a provider has to read first; null where the kept answer is the outcome. */
  textToRead(known: LedgerAnswer): string | null {
    if (this.#form.readStored === undefined) return null;
    return known.kind === 'hit' ? known.text : known.kind === 'miss' ? (known.text ?? null) : null;
  }

  /** The outcome of a kept answer that needs no reading. */
  kept(known: LedgerAnswer): LookupOutcome<R> {
    return known.kind === 'miss' && !this.#form.mayMiss ? missAsFailure({ attempts: 0, requestId: null }) : fromLedger(known);
  }

  /** Whether the answer is in quarantine: the ledger does not have it yet. */
  isHeld(key: string): boolean {
    return this.#held.has(key);
  }

  /** Calls back every record that waits for this lookup. Does nothing the second time. */
  tell(one: LookupInFlight<L, R>, outcome: LookupOutcome<R>): void {
    if (this.#inFlight.get(one.lookup.key) === one) this.#inFlight.delete(one.lookup.key);
    one.settle(outcome);
  }

  /** Settles every lookup without an answer; one that is polled has an answer. A rejected service's answers count as none. */
  giveUp(code: string): void {
    const { quarantine, ledger } = this.#context;
    const open = [...this.#inFlight.values()].filter(
      ({ lookup: { key } }) => !this.#reading.has(key) && (quarantine.isServiceRejected || !this.#held.has(key)),
    );
    for (const [scope, ones] of Map.groupBy(open, (one) => one.scope))
      ledger.release(
        scope,
        ones.map(({ lookup }) => lookup.key),
      );
    for (const one of open) {
      const known = one.isKept ? ledger.get(one.scope, one.lookup.key) : null;
      this.tell(one, known?.kind === 'unsettled' ? fromLedger(known) : unavailable(code));
    }
  }

  /** Answers that are still being read are left to the next run. */
  stop(): void {
    this.#isStopped = true;
    this.#context.quarantine.stop();
  }

  /** The ledger's entry. From now on the ledger knows the lookup. */
  entry(one: LookupInFlight<L, R>, answer: LedgerAnswer): LedgerEntry {
    const again = one.isKept;
    one.isKept = true;
    return { scope: one.scope, key: one.lookup.key, answer, ...(again ? { again } : {}) };
  }

  #named({ lookup: { key } }: LookupInFlight<L, R>): Pick<QuarantinedAnswer, 'step' | 'key'> {
    return { step: this.#form.step, key };
  }

  /**
   * A mapping that fails may be corrected before the next run, so the ledger keeps the answer and not the failure. An answer of an earlier
   * run that no rule takes may have been a passing one, so the lookup is asked again.
   */
  async #read(one: LookupInFlight<L, R>, kept: string): Promise<void> {
    const { quarantine, onSettled, onFatal } = this.#context;
    const { key } = one.lookup;
    this.#reading.add(key);
    const failed: FailedLookup = { kind: 'failed', code: 'bad_mapping', attempts: 0, requestId: null };
    let outcome: LookupOutcome<R> = failed;
    let isAskedAgain = false;
    try {
      const answer = await this.#form.readStored?.(kept);
      if (answer === 'not_taken') {
        if (this.#unfit.has(key)) outcome = { ...failed, code: 'bad_shape' };
        else isAskedAgain = true;
      } else if (answer === null) outcome = { kind: 'miss' };
      else if (answer !== undefined) outcome = { kind: 'hit', answer: { record: answer.record as R, text: answer.text } };
    } catch (error) {
      // The same code as in the run that got the answer.
      if (error instanceof Error && 'code' in error && typeof error.code === 'string') outcome = { ...failed, code: error.code };
    }
    try {
      this.#reading.delete(key);
      if (this.#isStopped) return;
      if (isAskedAgain) {
        one.isKept = true;
        this.#askAgain(one, kept);
        return;
      }
      if (outcome.kind === 'hit') quarantine.confirmByLedger();
      this.tell(one, outcome);
      onSettled();
    } catch (error) {
      onFatal(error);
    }
  }

  #deliver(one: LookupInFlight<L, R>, answer: LedgerAnswer, outcome: LookupOutcome<R>, beside?: () => readonly LedgerEntry[]): void {
    if (this.#together !== null) {
      this.#together.push({ one, answer, outcome });
      return;
    }
    this.#context.ledger.put([this.entry(one, answer), ...(beside?.() ?? [])]);
    this.tell(one, outcome);
  }
}
