/** The tickets that a provider has given in this run: one ticket for two requests would give the answer of one to the other. Pure. */
import { createHash } from 'node:crypto';

/** Tickets in memory; the oldest is forgotten first. */
const MOST_TICKETS = 100_000;

export class GivenTickets {
  /** By ticket, the digest of what was asked for; empty for a ticket of an earlier run, and null for one of two requests. */
  readonly #owners = new Map<string, string | null>();

  /** A request was answered with a ticket. Returns false when another request has it already. @param asked names the request */
  isFirst(ticket: string, asked: string): boolean {
    const owner = createHash('sha256').update(asked).digest('base64');
    const known = this.#owners.get(ticket);
    if (known === owner) return true;
    if (known !== undefined) {
      this.#owners.set(ticket, null);
      return false;
    }
    this.#add(ticket, owner);
    return true;
  }

  /** A request asks with a ticket. */
  isUsed(ticket: string): void {
    if (!this.#owners.has(ticket)) this.#add(ticket, '');
  }

  /** Whether two requests were given it, so that nobody can tell whose its answer is. */
  isAmbiguous(ticket: string): boolean {
    return this.#owners.get(ticket) === null;
  }

  #add(ticket: string, owner: string): void {
    const [oldest] = this.#owners.keys();
    if (oldest !== undefined && this.#owners.size >= MOST_TICKETS) this.#owners.delete(oldest);
    this.#owners.set(ticket, owner);
  }
}
