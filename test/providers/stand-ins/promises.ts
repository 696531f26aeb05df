/**
 * A vendor of no real API that promises its answers: it takes a lookup, pays itself, and gives a ticket to ask with. It takes up to 20
 * addresses in one request, too, and answers them in pages. It also checks addresses by the batch, for a tenth of a credit each.
 */
import { startStandIn, type StandIn, type StandInBook, type StandInCall, type StandInOptions, type StandInReply } from './stand-in.ts';
import { findPerson } from './world.ts';

interface PromisesOptions extends StandInOptions {
  /** How many times it says "not yet" to each ticket. The default is 1. */
  readonly notYet?: number;
  /** Entries of a page of the answer to several. The default is 7. */
  readonly page?: number;
}

const MAX_TOGETHER = 20;
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
  readonly emails: readonly string[];
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
    if (call.path === '/batches') return this.#promiseAll((call.body as { emails: readonly string[] }).emails);
    if (call.path.startsWith('/batches/'))
      return this.#page(decodeURIComponent(call.path.replace('/batches/', '')), call.query.get('page'));
    if (call.path === '/lookups') return this.#promise(String((call.body as { email: unknown }).email));
    if (call.path === '/checks') return this.#check((call.body as { emails: readonly string[] }).emails);
    return this.#keep(decodeURIComponent(call.path.replace('/lookups/', '')));
  }

  /** Each lookup is charged, found or not. */
  #promise(email: string): StandInReply {
    if (this.#book.balance < 1) return { status: 402, body: {} };
    this.#book.charge('enrich', email);
    const ticket = `${this.#tickets.size + 1}-${email}`;
    this.#tickets.set(ticket, { emails: [email], notYet: this.#options.notYet ?? 1 });
    return { status: 202, body: { ticket, credits: 1 } };
  }

  /** The credits of those who are not found are given back with the answer. */
  #promiseAll(emails: readonly string[]): StandInReply {
    if (emails.length > MAX_TOGETHER) return { status: 400, body: {} };
    if (this.#book.balance < emails.length) return { status: 402, body: {} };
    for (const email of emails) this.#book.charge('enrich', email);
    const ticket = `batch-${this.#tickets.size + 1}`;
    this.#tickets.set(ticket, { emails, notYet: this.#options.notYet ?? 1 });
    return { status: 202, body: { ticket } };
  }

  #page(ticket: string, page: string | null): StandInReply {
    const promised = this.#tickets.get(ticket);
    if (promised === undefined) return { status: 404, body: { error: 'no such batch' } };
    if (promised.notYet-- > 0) return { status: 202, body: {} };
    const { page: size = 7 } = this.#options;
    const from = Number(page ?? 0);
    const people = promised.emails.slice(from, from + size).map((asked, at) => {
      const { email, firstName, lastName, title } = this.#book.look(findPerson({ email: asked })) ?? {};
      return { number: from + at, ...(email === undefined ? {} : { person: { email, name: `${firstName} ${lastName}`, title } }) };
    });
    const next = from + size < promised.emails.length ? from + size : null;
    return { status: 200, body: { people, next, credits: promised.emails.length } };
  }

  #keep(ticket: string): StandInReply {
    const promised = this.#tickets.get(ticket);
    if (promised === undefined) return { status: 404, body: {} };
    if (promised.notYet-- > 0) return { status: 202, body: { ticket, credits: 0 } };
    const person = this.#book.look(findPerson({ email: promised.emails[0] ?? '' }));
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
