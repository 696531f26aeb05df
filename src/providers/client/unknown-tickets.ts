/**
 * The 404s to polls. A gateway in front of a provider may send one while it is deployed, so that one alone ends no promise that was paid
 * for. Pure.
 */

/** More forms than a provider has. */
const MOST_FORMS = 16;

export class UnknownTickets {
  /** The form of the 404 that a promise was answered with, by its name. */
  readonly #doubted = new Map<string, string>();
  /** Forms that two 404s in a row have shown. */
  readonly #usual = new Set<string>();

  /** Whether a 404 of this form counts: it is the usual one, or the second in a row. @param form see `formOf404` */
  counts(promise: string, form: string): boolean {
    const first = this.#doubted.get(promise);
    if (first === undefined && !this.#usual.has(form)) {
      this.#doubted.set(promise, form);
      return false;
    }
    this.#doubted.delete(promise);
    if (first === form && this.#usual.size < MOST_FORMS) this.#usual.add(form);
    return true;
  }

  /** The promise was answered otherwise. */
  isKnown(promise: string): void {
    this.#doubted.delete(promise);
  }
}
