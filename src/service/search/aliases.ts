/**
 * Other domains of companies, by the numbers of both (docs/decisions/search.md): whoever works at one of them works at the company whose record is shown for them.
 * Where somebody works is kept by the domain that was told, so nothing of people changes with what a domain stands for.
 */
import { anyAlias, ownerReader } from '../store/domain-aliases.ts';
import { onceATransaction } from '../store/once.ts';
import type { PlaceAndTrade } from '../store/prepared-company.ts';
import type { Store } from '../store/store.ts';
import type { Bits } from './bitmap.ts';
import { ColumnReader, ColumnWriter } from './columns.ts';
import type { DomainNumbers } from './employers.ts';
import type { Sizes } from './next-sizes.ts';
import { CHUNK } from './packed.ts';

/** Collects the domains of which it may have changed whose they are, and settles that once a transaction, by what is there at its end. */
export class AliasWriter {
  readonly #domains: DomainNumbers;
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

  /** @param index whose transactions these are */
  constructor(store: Store, domains: DomainNumbers, index: { readonly transactions: number }) {
    this.#domains = domains;
    this.#column = new ColumnWriter(store, 'alias_companies');
    this.#ownerOf = ownerReader(store);
    // Of aliases that come within the transaction, or go, `change` is told.
    this.#hasAliases = onceATransaction(index, anyAlias(store));
    this.#isAlias = store.prepare('SELECT 1 FROM domain_aliases WHERE alias = ? LIMIT 1');
    this.#before = new ColumnReader(store, 'alias_companies');
    this.#nameOf = store.prepare('SELECT domain FROM domains WHERE id = ?');
    this.#hasSignals = store.prepare('SELECT 1 FROM signals WHERE company_domain = ? LIMIT 1');
    this.#placeOf = store.prepare('SELECT country, industry FROM companies WHERE domain = ?');
    this.#putPlace = store.prepare('UPDATE signals SET country = ?1, industry = ?2 WHERE company_domain = ?3 AND (country IS NOT ?1 OR industry IS NOT ?2)');
  }

  change(domain: string): void {
    this.#changed.add(domain);
  }

  /** A domain that has a company of its own is no other company's. */
  newCompany(domain: string): void {
    if (this.#hasAliases() && this.#isAlias.get(domain) !== undefined) this.change(domain);
  }

  /** Within the transaction of the changes. @param tell is told of each company that has gained or lost signals with that */
  flush(tell: (company: string) => void): void {
    for (const domain of this.#changed) {
      const owner = this.#ownerOf(domain);
      // Whoever comes to work there later finds the number that is known.
      const number = owner === null ? this.#domains.find(domain) : this.#domains.give(domain);
      if (this.#hasSignals.get(domain) !== undefined) this.#moveSignals(domain, number, owner, tell);
      if (number !== null) this.#column.change(number, owner === null ? null : this.#domains.give(owner));
    }
    this.#changed.clear();
    this.#before.forget();
    this.#column.flush();
  }

  /** Signals of this domain are the new owner's: in filters of signals, and with the companies. */
  #moveSignals(domain: string, number: number | null, owner: string | null, tell: (company: string) => void): void {
    const { country = null, industry = null } = (this.#placeOf.get(owner ?? domain) ?? {}) as Partial<PlaceAndTrade>;
    this.#putPlace.run(country, industry, domain);
    const owned = number === null ? null : numberAt(this.#before, number);
    const before = owned === null ? null : (this.#nameOf.get(owned)?.['domain'] as string);
    if (before === owner) return;
    for (const company of [before, owner]) if (company !== null) tell(company);
  }
}

/** A column's number of a row; null: it has none. */
function numberAt(column: ColumnReader, row: number): number | null {
  const { least, unit, codes } = column.chunk(Math.floor(row / CHUNK));
  const code = codes[row % CHUNK] ?? 0;
  return code === 0 ? null : least + (code - 1) * unit;
}

/** Other domains in the order of their numbers, and the number of whose each is. */
interface Known {
  readonly aliases: Uint32Array;
  readonly companies: Uint32Array;
}

/** What is known of companies, said of their other domains, too. Eight bytes of each are kept as they were read. */
export class AliasReader {
  readonly #column: ColumnReader;
  #known: Known | null = null;

  constructor(store: Store) {
    this.#column = new ColumnReader(store, 'alias_companies');
  }

  /** The store has changed. */
  forget(): void {
    this.#known = null;
  }

  /** The number of the company that a domain stands for, by the domain's number; the same where it stands for itself. */
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

  /** Other domains are in the set when their company is, and not else. */
  spread(set: Bits): void {
    const { aliases, companies } = this.#all;
    for (let at = 0; at < aliases.length; at++) {
      const [alias, company] = [aliases[at] as number, companies[at] as number];
      const bit = ((set[company >>> 5] ?? 0) >>> (company & 31)) & 1;
      set[alias >>> 5] = ((set[alias >>> 5] ?? 0) & ~(1 << (alias & 31))) | (bit << (alias & 31));
    }
  }

  /** At other domains as many work as at their company. */
  spreadSizes(sizes: Sizes): void {
    const { aliases, companies } = this.#all;
    for (let at = 0; at < aliases.length; at++) sizes[aliases[at] as number] = sizes[companies[at] as number] ?? 0;
  }

  get #all(): Known {
    return (this.#known ??= this.#read());
  }

  #read(): Known {
    const [aliases, companies]: [number[], number[]] = [[], []];
    for (const chunk of [...this.#column.extents().keys()].sort((one, other) => one - other)) {
      const { least, unit, codes } = this.#column.chunk(chunk);
      for (let at = 0; at < CHUNK; at++) {
        const code = codes[at] ?? 0;
        if (code === 0) continue;
        aliases.push(chunk * CHUNK + at);
        companies.push(least + (code - 1) * unit);
      }
    }
    this.#column.forget();
    return { aliases: Uint32Array.from(aliases), companies: Uint32Array.from(companies) };
  }
}
