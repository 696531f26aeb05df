/** Tickets of several lookups: one run asks for the answer, and stores those of all its lookups. */
import type { LedgerAnswer, LedgerEntry } from '../ledger/ledger.ts';
import type { LookupAnswers } from './lookup-answers.ts';
import type { LookupForm, StepLookup } from './lookup-form.ts';
import { LookupInFlight } from './lookup-in-flight.ts';
import { readNote, RequestPart, writeNote, type PartNote } from './request-parts.ts';
import type { StepContext } from './step-context.ts';

/** Ends a ticket in the ledger: its lookups have answers of their own, or none. */
const ENDED: LedgerAnswer = { kind: 'miss' };
/** No answer in the ledger is this text: a ticket is no lookup, and is not counted as one. */
const NO_LOOKUP = '';

/**
 * A ticket that lookups of an earlier request name.
 *
 * ## claiming
 * The run asks the ledger for the claim. Ended by another run, the lookups are asked again, and find its answers.
 *
 * ## polled
 * The run has the claim and the list of lookups. A lookup that no record has asked for yet is asked for along with the others.
 *
 * ## unlisted
 * The list is gone, for example after a purge, or because the answer lacked some lookups. The lookups that arrive are collected.
 */
interface OpenTicket<L, R> {
  readonly note: PartNote;
  state: 'claiming' | 'polled' | 'unlisted';
  readonly waiting: Map<string, { readonly one: LookupInFlight<L, R>; readonly at: number }>;
}

interface SharedTicketsOptions<L extends StepLookup, R> {
  readonly context: StepContext;
  readonly form: LookupForm<L, R>;
  readonly answers: LookupAnswers<L, R>;
  readonly poll: (part: RequestPart) => void;
  /** The ticket has ended, and this lookup may have an answer in the ledger. */
  readonly onEnded: (one: LookupInFlight<L, R>) => void;
}

export class SharedTickets<L extends StepLookup, R> {
  readonly #options: SharedTicketsOptions<L, R>;
  /** By the Idempotency-Key of the request that was promised an answer, which is the ticket's key in the ledger. */
  readonly #open = new Map<string, OpenTicket<L, R>>();
  #isGivenUp = false;

  constructor(options: SharedTicketsOptions<L, R>) {
    this.#options = options;
  }

  /** Tickets that wait for a claim. */
  get claiming(): number {
    return this.#inState('claiming').length;
  }

  /** Tickets without a list whose lookups have not all arrived. */
  get incomplete(): number {
    return this.#inState('unlisted').length;
  }

  /** A lookup whose answer was promised together with others. */
  rejoin(one: LookupInFlight<L, R>, note: PartNote): void {
    const known = this.#open.get(note.id);
    const ticket: OpenTicket<L, R> = known ?? { note, state: 'claiming', waiting: new Map() };
    ticket.waiting.set(one.lookup.key, { one, at: note.at ?? ticket.waiting.size });
    if (known === undefined) {
      this.#open.set(note.id, ticket);
      this.#claim(ticket);
    } else if (ticket.state === 'unlisted' && ticket.waiting.size >= note.size) this.#pollAsItIs(ticket);
  }

  /** Polls tickets without a list as they are: no more of their lookups arrive. */
  giveUpOnMissing(): void {
    for (const ticket of this.#inState('unlisted')) this.#pollAsItIs(ticket);
  }

  /** The ledger's entry about a promise to several lookups, which lists them. @param note about the part */
  entry(note: PartNote, lookups: readonly L[]): LedgerEntry {
    const members = lookups.map((lookup) => this.#options.form.memberOf(lookup));
    return this.#entry(note.id, { kind: 'asking', text: writeNote({ ...note, members }) });
  }

  /** The ledger's entry about a ticket whose answer lacks some of its lookups: a retry asks for those alone. */
  unlisted(note: PartNote): LedgerEntry {
    return this.#entry(note.id, { kind: 'asking', text: writeNote(note) });
  }

  /** The ledger's entry that ends a ticket. */
  end(id: string): LedgerEntry {
    return this.#entry(id, ENDED);
  }

  /** The ticket is not asked for any more. @param hasEnded the ledger has the entry of `end`; otherwise others may ask */
  close(id: string, hasEnded: boolean): void {
    const ticket = this.#open.get(id);
    this.#open.delete(id);
    if (!hasEnded) this.#release([id]);
    if (ticket !== undefined) this.#askAgain(ticket);
  }

  /** Asks for no ticket any more. */
  clear(): void {
    this.#isGivenUp = true;
    this.#release([...this.#open.keys()]);
    this.#open.clear();
  }

  #inState(state: OpenTicket<L, R>['state']): OpenTicket<L, R>[] {
    return [...this.#open.values()].filter((ticket) => ticket.state === state);
  }

  #entry(key: string, answer: LedgerAnswer): LedgerEntry {
    return { scope: this.#scope, key, answer, again: true };
  }

  get #scope(): number {
    return this.#options.form.ticketScope ?? -1;
  }

  #release(ids: readonly string[]): void {
    if (ids.length > 0) this.#options.context.ledger.release(this.#scope, ids);
  }

  #claim(ticket: OpenTicket<L, R>): void {
    const { ledger, onSettled } = this.#options.context;
    const { id } = ticket.note;
    ledger.ask(
      this.#scope,
      id,
      (told, _seed = null, listed = null) => {
        if (this.#isGivenUp) {
          if (told === null) this.#release([id]);
        } else if (told !== null) this.close(id, true);
        else if (listed === null) this.#isUnlisted(ticket);
        else this.#pollAll(ticket, readNote(listed));
        onSettled();
      },
      NO_LOOKUP,
    );
  }

  #isUnlisted(ticket: OpenTicket<L, R>): void {
    ticket.state = 'unlisted';
    if (ticket.waiting.size >= ticket.note.size) this.#pollAsItIs(ticket);
  }

  #pollAll(ticket: OpenTicket<L, R>, note: PartNote): void {
    const { form, answers, poll } = this.#options;
    if (note.members === null) {
      this.#isUnlisted(ticket);
      return;
    }
    ticket.state = 'polled';
    const lookups = note.members.map((member) => form.lookupOf(member));
    for (const lookup of lookups)
      if (answers.find(lookup.key) === undefined)
        answers.add(new LookupInFlight<L, R>(lookup, form.scopeOf(lookup), null, () => undefined, true));
    for (const { key } of lookups) ticket.waiting.delete(key);
    poll(
      RequestPart.ofNote(
        note,
        lookups.map(({ key }) => key),
      ),
    );
  }

  #pollAsItIs(ticket: OpenTicket<L, R>): void {
    ticket.state = 'polled';
    const known = [...ticket.waiting].toSorted(([, one], [, other]) => one.at - other.at);
    ticket.waiting.clear();
    const places = known.map(([, { at }]) => at);
    this.#options.poll(
      RequestPart.ofNote(
        ticket.note,
        known.map(([key]) => key),
        places,
      ),
    );
  }

  #askAgain({ waiting, note }: OpenTicket<L, R>): void {
    for (const { one } of waiting.values()) {
      one.endedTicket = note.id;
      this.#options.onEnded(one);
    }
  }
}
