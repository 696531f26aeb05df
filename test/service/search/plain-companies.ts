/** Which company's record is shown for a domain, by hand: its own, else that of the one company that has it as another domain. */
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';

export class PlainCompanies {
  readonly #records = new Map<unknown, SparseRecord>();
  readonly #claims = new Map<unknown, unknown[]>();

  /** @param record what of it is asked for; `aliases` in their one form */
  add(domain: unknown, aliases: unknown, record: SparseRecord): void {
    this.#records.set(domain, record);
    for (const alias of new Set(Array.isArray(aliases) ? (aliases as readonly unknown[]) : []))
      this.#claims.set(alias, [...(this.#claims.get(alias) ?? []), domain]);
  }

  /** The domain of the company that is shown for `domain`; `domain` itself without one. */
  domainOf(domain: unknown): unknown {
    const claims = this.#records.has(domain) ? [] : (this.#claims.get(domain) ?? []).filter((one) => one !== domain);
    return claims.length === 1 ? claims[0] : domain;
  }

  shownFor(domain: unknown): SparseRecord | null {
    return this.#records.get(this.domainOf(domain)) ?? null;
  }
}
