import type { RecordAnswer } from '../client/attempt-client.ts';
import type { LookupOptions, LookupStepName } from '../client/provider-client.ts';
import type { RecordOrigin } from '../formats/input-record.ts';
import type { CallAnswer } from '../pool/call.ts';
import { LookupAnswers } from './lookup-answers.ts';
import { LookupInFlight } from './lookup-in-flight.ts';
import { fromLedger, unavailable, type LookupOutcome } from './lookup-outcome.ts';
import { LookupRequests } from './lookup-requests.ts';
import { readNote } from './request-parts.ts';
import type { StepContext } from './step-context.ts';

export type { LookupOutcome } from './lookup-outcome.ts';

/** A lookup. Two lookups of one step with the same key are the same. */
export interface StepLookup {
  readonly key: string;
}

/**
 * A step that looks up one record at a time: enrich, company, reveal. Records with the same key share the lookup in flight. Later ones find
 * the answer in the ledger. Where the provider takes several lookups in one request, they wait until one is full, or for `flush`.
 */
export abstract class LookupStep<L extends StepLookup, R> {
  protected readonly context: StepContext;
  readonly #step: LookupStepName;
  readonly #answers: LookupAnswers<L, R>;
  readonly #requests: LookupRequests<L, R>;
  /** Lookups that wait for a claim or for other runs. */
  #asking = 0;
  /** Why the provider was given up; null while it is not. */
  #gaveUpFor: string | null = null;

  constructor(context: StepContext, step: LookupStepName) {
    this.context = context;
    this.#step = step;
    const form = {
      bodyOf: (lookup: L) => this.bodyOf(lookup),
      call: (body: string, options: LookupOptions) => this.call(body, options),
    };
    this.#answers = new LookupAnswers(context, step);
    this.#requests = new LookupRequests(context, step, form, this.#answers);
  }

  /** The ledger scope of this lookup. */
  protected abstract scopeOf(lookup: L): number;

  /** The text that names the lookup: the same each time. */
  protected abstract bodyOf(lookup: L): string;

  /** One attempt at this lookup alone. */
  protected abstract call(body: string, options: LookupOptions): Promise<CallAnswer<RecordAnswer<R>>>;

  /** Calls that are in flight or waiting, answers that are being read, and lookups that wait for other runs. */
  get callsPending(): number {
    return this.#requests.calls + this.#answers.reading + this.#asking;
  }

  /** Lookups waiting for a request to fill up. */
  get lookupsWaiting(): number {
    return this.#requests.waiting;
  }

  /** Requests of the run before whose lookups have not all arrived. */
  get groupsIncomplete(): number {
    return this.#requests.incomplete;
  }

  /** @param origin the record that asks; null for a key of the command line */
  ask(lookup: L, done: (outcome: LookupOutcome<R>) => void, origin: RecordOrigin | null = null): void {
    const { key } = lookup;
    const asked = this.#answers.find(key);
    if (asked !== undefined) {
      asked.add(done);
      return;
    }
    const { ledger, quarantine, client } = this.context;
    const scope = this.scopeOf(lookup);
    const known = ledger.get(scope, key);
    const isAsking = known?.kind === 'asking';
    if (known !== null && !isAsking) {
      if (known.kind === 'hit') quarantine.confirmByLedger();
      if (known.kind !== 'hit' || client.readStored === undefined) {
        done(fromLedger(known));
        return;
      }
    } else if (this.#gaveUpFor !== null) {
      done(unavailable(this.#gaveUpFor));
      return;
    }
    const one = new LookupInFlight(lookup, scope, origin, done, isAsking);
    this.#answers.add(one);
    if (known !== null) {
      if (isAsking) this.#requests.resume(one, readNote(known.text));
      else this.#answers.tellKept(one, known);
      return;
    }
    const doubtful = quarantine.takeRestored(this.#step, key);
    if (doubtful !== null) this.#answers.quarantine(one, doubtful);
    else this.#claim(one);
  }

  /** Sends the waiting lookups, in a full request or not. */
  flush(): void {
    this.#requests.flush();
  }

  /** Sends incomplete requests of the run before as they are: no more of their lookups arrive. */
  giveUpOnMissing(): void {
    this.#requests.giveUpOnMissing();
  }

  /**
   * Gives the provider up: settles every lookup without an answer as `unavailable`, now and from now on. The ledger gets nothing, so that
   * the next run asks. Call it after `drain` of the pool, so that no paid answer is still on its way. @param code for the records
   */
  giveUp(code: string): void {
    if (this.#gaveUpFor !== null) return;
    this.#gaveUpFor = code;
    this.#requests.giveUp();
    this.#answers.giveUp(code);
    this.context.onSettled();
  }

  /** Delivers no more kept answers: the run ends. */
  stop(): void {
    this.#answers.stop();
  }

  #claim(one: LookupInFlight<L, R>): void {
    const { ledger, onSettled } = this.context;
    const { scope, lookup } = one;
    this.#asking++;
    ledger.ask(scope, lookup.key, (told, seed = null) => {
      this.#asking--;
      const isOpen = this.#answers.find(lookup.key) === one;
      if (isOpen && told === null) {
        this.#requests.ask(one, seed);
        return;
      }
      if (isOpen && told !== null) this.#answers.tellKept(one, told);
      if (told === null) ledger.release(scope, [lookup.key]);
      onSettled();
    });
  }
}
