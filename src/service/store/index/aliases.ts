/**
 * Maps the id of a company's other domain (alias) to the id of the company (docs/decisions/search.md). People keep the domain of their
 * record, so a change of an alias rewrites no person.
 */
import { anyAlias, ownerReader } from '../identity/domain-aliases.ts';
import { oncePerTransaction } from '../rows/once-per-transaction.ts';
import type { CountryAndIndustry } from '../rows/normalised-company.ts';
import type { Store } from '../store.ts';
import type { Bitmap } from './bitmap.ts';
import type { DomainIds } from './domain-ids.ts';
import { ColumnReader, ColumnWriter } from './sort-columns.ts';
import { CHUNK } from './packed-chunk.ts';

/** By id of a company: its headcount + 1, or 0 where it is unknown. */
export type CompanySizes = Int32Array | Float64Array;

/** Collects domains whose owner may have changed, and updates them at the end of the transaction. */
export class AliasWriter {
  readonly #domains: DomainIds;
  readonly #changed = new Set<string>();
  readonly #column: ColumnWriter;
  readonly #ownerOf;
  readonly #hasAliases: () => boolean;
  readonly #isAlias;
  readonly #before: ColumnReader;
  readonly #nameOf;
  readonly #hasSignals;
  readonly #placeOf;
  readonly #putPlace;

  /** @param index counts the transactions */
  constructor(store: Store, domains: DomainIds, index: { readonly transactions: number }) {
    this.#domains = domains;
    this.#column = new ColumnWriter(store, 'alias_companies');
    this.#ownerOf = ownerReader(store);
    // Changes of aliases within the transaction reach `change`.
    this.#hasAliases = oncePerTransaction(index, anyAlias(store));
    this.#isAlias = store.prepare('SELECT 1 FROM domain_aliases WHERE alias = ? LIMIT 1');
    this.#before = new ColumnReader(store, 'alias_companies');
    this.#nameOf = store.prepare('SELECT domain FROM domains WHERE id = ?');
    this.#hasSignals = store.prepare('SELECT 1 FROM signals WHERE company_domain = ? LIMIT 1');
    this.#placeOf = store.prepare('SELECT country, industry FROM companies WHERE domain = ?');
    this.#putPlace = store.prepare(
      'UPDATE signals SET country = ?1, industry = ?2 WHERE company_domain = ?3 AND (country IS NOT ?1 OR industry IS NOT ?2)',
    );
  }

  change(domain: string): void {
    this.#changed.add(domain);
  }

  /** A domain with a company of its own is not an alias. */
  newCompany(domain: string): void {
    if (this.#hasAliases() && this.#isAlias.get(domain) !== undefined) this.change(domain);
  }

  /** To be called within the transaction of the changes. @param onSignalsMoved called with each company that gains or loses signals */
  flush(onSignalsMoved: (company: string) => void): void {
    for (const domain of this.#changed) {
      const owner = this.#ownerOf(domain);
      // People who come to the domain later use the same id.
      const number = owner === null ? this.#domains.find(domain) : this.#domains.getOrAdd(domain);
      if (this.#hasSignals.get(domain) !== undefined) this.#moveSignals(domain, number, owner, onSignalsMoved);
      if (number !== null) this.#column.change(number, owner === null ? null : this.#domains.getOrAdd(owner));
    }
    this.#changed.clear();
    this.#before.invalidate();
    this.#column.flush();
  }

  /** The signals of a domain move to its new owner: their filter columns, and both companies. */
  #moveSignals(domain: string, number: number | null, owner: string | null, onSignalsMoved: (company: string) => void): void {
    const { country = null, industry = null } = (this.#placeOf.get(owner ?? domain) ?? {}) as Partial<CountryAndIndustry>;
    this.#putPlace.run(country, industry, domain);
    const owned = number === null ? null : numberAt(this.#before, number);
    const before = owned === null ? null : (this.#nameOf.get(owned)?.['domain'] as string);
    if (before === owner) return;
    for (const company of [before, owner]) if (company !== null) onSignalsMoved(company);
  }
}

/** The number of a row in a column; null when it has none. */
function numberAt(column: ColumnReader, row: number): number | null {
  const { least, unit, codes } = column.chunk(Math.floor(row / CHUNK));
  const code = codes[row % CHUNK] ?? 0;
  return code === 0 ? null : least + (code - 1) * unit;
}

/** Ids of aliases, ascending, and the id of each one's company. */
interface AliasIds {
  readonly aliases: Uint32Array;
  readonly companies: Uint32Array;
}

/** Copies what is known about companies to their aliases. It caches eight bytes for each alias. */
export class AliasReader {
  readonly #column: ColumnReader;
  #cached: AliasIds | null = null;

  constructor(store: Store) {
    this.#column = new ColumnReader(store, 'alias_companies');
  }

  /** To be called after a write to the store. */
  invalidate(): void {
    this.#cached = null;
  }

  /** The id of the company that owns a domain, by the domain's id; the same id where the domain is no alias. */
  companyOf(number: number): number {
    const { aliases, companies } = this.#all;
    let [low, high] = [0, aliases.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((aliases[middle] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    return aliases[low] === number ? (companies[low] ?? number) : number;
  }

  /** Each alias gets the bit of its company. */
  copyToAliases(set: Bitmap): void {
    const { aliases, companies } = this.#all;
    for (let at = 0; at < aliases.length; at++) {
      const [alias, company] = [aliases[at] as number, companies[at] as number];
      const bit = ((set[company >>> 5] ?? 0) >>> (company & 31)) & 1;
      set[alias >>> 5] = ((set[alias >>> 5] ?? 0) & ~(1 << (alias & 31))) | (bit << (alias & 31));
    }
  }

  /** Each alias gets the headcount of its company. */
  copySizesToAliases(sizes: CompanySizes): void {
    const { aliases, companies } = this.#all;
    for (let at = 0; at < aliases.length; at++) sizes[aliases[at] as number] = sizes[companies[at] as number] ?? 0;
  }

  get #all(): AliasIds {
    return (this.#cached ??= this.#read());
  }

  #read(): AliasIds {
    const [aliases, companies]: [number[], number[]] = [[], []];
    for (const chunk of [...this.#column.zones().keys()].sort((one, other) => one - other)) {
      const { least, unit, codes } = this.#column.chunk(chunk);
      for (let at = 0; at < CHUNK; at++) {
        const code = codes[at] ?? 0;
        if (code === 0) continue;
        aliases.push(chunk * CHUNK + at);
        companies.push(least + (code - 1) * unit);
      }
    }
    this.#column.invalidate();
    return { aliases: Uint32Array.from(aliases), companies: Uint32Array.from(companies) };
  }
}
