import type { RecordOrigin } from '../formats/input-record.ts';
import type { LookupListener } from '../ledger/run-ledger.ts';
import type { LedgerAnswer } from '../ledger/ledger.ts';
import { LookupAnswers } from './lookup-answers.ts';
import type { LookupForm, StepLookup } from './lookup-form.ts';
import { LookupInFlight } from './lookup-in-flight.ts';
import { unavailable, type LookupOutcome } from './lookup-outcome.ts';
import { LookupRequests } from './lookup-requests.ts';
import { readGroup } from './pending.ts';
import { readNote } from './request-parts.ts';
import type { StepContext } from './step-context.ts';

/**
 * A step at one provider. Records with the same key share the lookup in flight. Later ones find the answer in the ledger. Where the
 * provider takes several lookups in one request, they wait until one is full, or for `flush`.
 *
 * Where order fixes the requests, lookups must arrive in input order: a run after a kill then fills the same requests, and a service that
 * honours Idempotency-Key charges them once.
 */
export class LookupStep<L extends StepLookup, R> {
  readonly #context: StepContext;
  readonly #form: LookupForm<L, R>;
  readonly #answers: LookupAnswers<L, R>;
  readonly #requests: LookupRequests<L, R>;
  /** Lookups that wait for a claim or for other runs. */
  #asking = 0;
  /** Why the provider was given up; null while it is not. */
  #gaveUpFor: string | null = null;

  constructor(context: StepContext, form: LookupForm<L, R>) {
    this.#context = context;
    this.#form = form;
    this.#answers = new LookupAnswers(context, form);
    this.#requests = new LookupRequests(context, form, this.#answers);
    this.#requests.onTicketEnded = (one) => this.#ticketEnded(one);
    this.#answers.onAskAgain = (one, unfit) => this.#askAgain(one, unfit);
  }

  /** Calls that are in flight or waiting, answers that are being read, and lookups that wait for other runs. */
  get callsPending(): number {
    return this.callsInFlight + this.#asking + this.#requests.claiming;
  }

  /** The same without lookups that wait for other runs: those runs may wait for a partial request of this one. */
  get callsInFlight(): number {
    return this.#requests.calls + this.#answers.reading;
  }

  /** Whether requests carry several lookups, and their order decides which request a lookup is in. */
  get isOrdered(): boolean {
    return this.#form.strategy.isOrdered && this.#form.size > 1;
  }

  /** Lookups waiting for a request to fill up. */
  get lookupsWaiting(): number {
    return this.#requests.waiting;
  }

  /** Requests of the run before whose lookups have not all arrived. */
  get groupsIncomplete(): number {
    return this.#requests.incomplete;
  }

  /** Lookups whose answer is polled later, and when the first is asked for again (monotonic milliseconds); null without any. */
  get answersPending(): { readonly lookups: number; readonly untilMs: number } | null {
    return this.#requests.polls?.waiting ?? null;
  }

  /** @param origin the record that asks; null for a key of the command line */
  ask(lookup: L, done: (outcome: LookupOutcome<R>) => void, origin: RecordOrigin | null = null): void {
    const { key } = lookup;
    const asked = this.#answers.find(key);
    if (asked !== undefined) {
      asked.add(done);
      return;
    }
    const { ledger, quarantine } = this.#context;
    const scope = this.#form.scopeOf(lookup);
    const known = ledger.get(scope, key);
    const isAsking = known?.kind === 'asking';
    const group = known?.kind === 'unsettled' && this.#gaveUpFor === null ? readGroup(known.text).group : null;
    if (known !== null && !isAsking && group === null) {
      if (this.#answers.textToRead(known) === null) {
        if (known.kind === 'hit') quarantine.confirmByLedger();
        done(this.#answers.kept(known));
        return;
      }
    } else if (this.#gaveUpFor !== null) {
      done(unavailable(this.#gaveUpFor));
      return;
    }
    const one = new LookupInFlight(lookup, scope, origin, done, isAsking || group !== null);
    this.#answers.add(one);
    // The run before may have asked, and left the answer in quarantine.
    const doubtful = known === null || isAsking ? quarantine.takeRestored(this.#form.step, key) : null;
    one.missed = doubtful?.form ?? null;
    if (doubtful !== null && one.missed === null) this.#answers.quarantine(one, doubtful);
    else if (known === null) this.#claim(one);
    else if (known.kind === 'unsettled' && group !== null) this.#requests.polls?.rejoin(one, known, group);
    else if (known.kind === 'asking') this.#resume(one, known);
    else this.#answers.tellKept(one, known);
  }

  /** Sends the waiting lookups, in full requests or not, as far as the provider can take them now. */
  flush(): void {
    this.#requests.flush();
  }

  /** Sends incomplete requests of the run before as they are: no more of their lookups arrive. */
  giveUpOnMissing(): void {
    this.#requests.giveUpOnMissing();
  }

  /**
   * Gives the provider up: settles every lookup without an answer as `unavailable`, now and from now on. An answer that is polled counts
   * as it is. The ledger gets nothing, so that the next run asks. Call it after `drain` of the pool, so that no paid answer is lost.
   * @param code for the records
   */
  giveUp(code: string): void {
    if (this.#gaveUpFor !== null) return;
    this.#gaveUpFor = code;
    this.#requests.giveUp();
    this.#answers.giveUp(code);
    this.#context.onSettled();
  }

  /** Polls and delivers nothing more: the run ends. */
  stop(): void {
    this.#requests.stop();
    this.#answers.stop();
  }

  /** @param unfit the kept answer that no rule takes; null after a 404, for which this run still has the claim */
  #askAgain(one: LookupInFlight<L, R>, unfit: string | null): void {
    // The pool is drained by now, and would never settle the call.
    if (this.#gaveUpFor !== null) this.#answers.tell(one, unavailable(this.#gaveUpFor));
    else if (unfit === null) this.#requests.ask(one);
    else this.#claim(one, unfit);
    this.#context.onSettled();
  }

  /** Another run may be asking for what was promised to a lookup alone, so that this one claims it first. */
  #resume(one: LookupInFlight<L, R>, known: LedgerAnswer & { readonly kind: 'asking' }): void {
    const { ticket, size } = readNote(known.text);
    if (ticket === null || size > 1) this.#requests.resume(one, known);
    else this.#claim(one);
  }

  #ticketEnded(one: LookupInFlight<L, R>): void {
    const { scope, lookup } = one;
    if (this.#gaveUpFor !== null || this.#answers.find(lookup.key) !== one) return;
    const known = this.#context.ledger.get(scope, lookup.key);
    if (known === null || known.kind === 'asking' || known.kind === 'unsettled') this.#claim(one);
    else this.#answers.tellKept(one, known);
  }

  #claim(one: LookupInFlight<L, R>, unfit: string | null = null): void {
    const { ledger, onSettled } = this.#context;
    const { scope, lookup } = one;
    this.#asking++;
    const hear: LookupListener = (told, seed = null, promised = null) => {
      this.#asking--;
      const isOpen = this.#answers.find(lookup.key) === one;
      if (isOpen && told === null) {
        one.seed = seed;
        if (promised === null) this.#requests.ask(one);
        else this.#requests.resume(one, { kind: 'asking', text: promised });
        return;
      }
      if (isOpen && told !== null) this.#answers.tellKept(one, told);
      if (told === null) ledger.release(scope, [lookup.key]);
      onSettled();
    };
    ledger.ask(scope, lookup.key, hear, unfit);
  }
}
