/**
 * A vendor of no real API that promises its answers: it takes a lookup, pays itself, and gives a ticket to ask with. It also checks
 * addresses by the batch, and charges a tenth of a credit for each.
 */
import { startStandIn, type StandIn, type StandInBook, type StandInCall, type StandInOptions, type StandInReply } from './stand-in.ts';
import { findPerson } from './world.ts';

interface PromisesOptions extends StandInOptions {
  /** How many times it says "not yet" to each ticket. The default is 1. */
  readonly notYet?: number;
}

const MAX_CHECKS = 25;
const CHECK_CREDITS = 0.1;

/** Starts the stand-in. A ticket names its address, so that a test can read it; a second ticket for the same address is another one. */
export function startPromises(options: PromisesOptions = {}): Promise<StandIn> {
  return startStandIn(options, (book) => {
    const vendor = new Promises(options, book);
    return (call) => vendor.answer(call);
  });
}

interface Promised {
  readonly email: string;
  notYet: number;
}

class Promises {
  readonly #options: PromisesOptions;
  readonly #book: StandInBook;
  readonly #tickets = new Map<string, Promised>();

  constructor(options: PromisesOptions, book: StandInBook) {
    this.#options = options;
    this.#book = book;
  }

  answer(call: StandInCall): StandInReply {
    if (call.headers.authorization !== `Bearer ${this.#book.apiKey}`) return { status: 401, body: {} };
    if (this.#book.windows('all', []).take(this.#book.now()) !== null) return { status: 429, headers: { 'retry-after': '1' }, body: {} };
    if (call.path === '/lookups') return this.#promise(String((call.body as { email: unknown }).email));
    if (call.path === '/checks') return this.#check((call.body as { emails: readonly string[] }).emails);
    return this.#keep(decodeURIComponent(call.path.replace('/lookups/', '')));
  }

  /** Each lookup is charged, found or not. */
  #promise(email: string): StandInReply {
    if (this.#book.balance < 1) return { status: 402, body: {} };
    this.#book.charge('enrich', email);
    const ticket = `${this.#tickets.size + 1}-${email}`;
    this.#tickets.set(ticket, { email, notYet: this.#options.notYet ?? 1 });
    return { status: 202, body: { ticket, credits: 1 } };
  }

  #keep(ticket: string): StandInReply {
    const promised = this.#tickets.get(ticket);
    if (promised === undefined) return { status: 404, body: {} };
    if (promised.notYet-- > 0) return { status: 202, body: { ticket, credits: 0 } };
    const person = this.#book.look(findPerson({ email: promised.email }));
    const { email, firstName, lastName, title } = person ?? {};
    return {
      status: 200,
      body: { credits: 0, ...(person === null ? {} : { person: { email, name: `${firstName} ${lastName}`, title } }) },
    };
  }

  #check(emails: readonly string[]): StandInReply {
    if (emails.length > MAX_CHECKS) return { status: 400, body: {} };
    const checks = emails.map((email, number) => {
      const person = this.#book.look(findPerson({ email }));
      this.#book.charge('verify', email, CHECK_CREDITS);
      return { number, verdict: person?.verdict ?? 'unknown', score: 50 };
    });
    return { status: 200, body: { checks, credits: CHECK_CREDITS * emails.length } };
  }
}
