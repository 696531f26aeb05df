/** The entries of requests in the ledger: notes about lookups without an answer, and tickets. */
import type { LedgerEntry } from '../ledger/ledger.ts';
import type { LookupAnswers } from './lookup-answers.ts';
import type { LookupForm, StepLookup } from './lookup-form.ts';
import type { LookupInFlight } from './lookup-in-flight.ts';
import { writeNote, type RequestPart } from './request-parts.ts';
import type { SharedTickets } from './shared-tickets.ts';
import type { StepContext } from './step-context.ts';

export class PartEntries<L extends StepLookup, R> {
  readonly #context: StepContext;
  readonly #form: LookupForm<L, R>;
  readonly #answers: LookupAnswers<L, R>;
  readonly #tickets: SharedTickets<L, R>;

  constructor(context: StepContext, form: LookupForm<L, R>, answers: LookupAnswers<L, R>, tickets: SharedTickets<L, R>) {
    this.#context = context;
    this.#form = form;
    this.#answers = answers;
    this.#tickets = tickets;
  }

  /** The lookups of a part in the order of its request; null for one that is no longer known. */
  lookupsOf({ keys, size, places }: RequestPart): (L | null)[] {
    const lookups = keys.map((key) => this.#answers.find(key)?.lookup ?? null);
    if (places === null) return lookups;
    const whole = Array.from<L | null>({ length: size }).fill(null);
    for (const [index, place] of places.entries()) whole[place] = lookups[index] ?? null;
    return whole;
  }

  /** The provider answers later: the ledger keeps the ticket with which the part is asked for. */
  promised(part: RequestPart, id: string, ticket: string, charged: number): void {
    part.isPromised(id, ticket, charged, Date.now());
    const lookups = this.lookupsOf(part).filter((lookup) => lookup !== null);
    const list = part.isShared && part.places === null ? [this.#tickets.entry(part.note(id), lookups)] : [];
    this.#context.ledger.promise([...list, ...this.notesOf(part)]);
  }

  /** The entry that ends the ticket of a part. An answer in quarantine keeps it: the ledger has nothing else about its lookup. */
  endOf(part: RequestPart, id: string, all: readonly LookupInFlight<L, R>[], isOpen = false): LedgerEntry[] {
    const isHeld = all.some(({ lookup: { key } }) => this.#answers.isHeld(key));
    return part.isShared && !isOpen && !isHeld ? [this.#tickets.end(id)] : [];
  }

  /** The open parts of the same request, which the ledger must know together with the first answer to one of them. */
  notesOf(part: RequestPart): LedgerEntry[] {
    return part.takeUnnoted().flatMap(({ part: other }) => {
      const id = this.keyOf(other);
      return other.keys.flatMap((key, at): LedgerEntry[] => {
        const one = this.#answers.find(key);
        return one === undefined ? [] : [this.#answers.entry(one, { kind: 'asking', text: writeNote(other.note(id, at)) })];
      });
    });
  }

  /** The Idempotency-Key of a request. With that of the first request, a provider would repeat the answer that left the lookup out. */
  keyOf({ keys, asked, promisedAs }: RequestPart, seed: string | null = null): string {
    // A poll that is the same request must be the one that was paid for.
    if (promisedAs !== null) return promisedAs;
    const lookups = keys.flatMap((key) => this.#answers.find(key)?.lookup ?? []);
    const text = this.#form.textOf(lookups);
    const isFirst = asked === 1 || (lookups.length === 1 && this.#form.hasOwnRequest);
    return this.#context.idempotencyKey(isFirst ? text : `${text}\nleft out`, seed);
  }
}
