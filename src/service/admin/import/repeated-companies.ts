/** The companies of contacts. Many rows have the same one: it is cleaned once, and is once in a batch. Pure. */
import { generation } from '../../store/index/term-dictionary.ts';
import { cleanCompany, collectCompany, type CleanCompany, type NormalisedCompany } from '../../store/rows/normalised-company.ts';
import type { Collectors } from '../../store/rows/normalised.ts';
import type { Refusal } from '../../store/rows/upsert-result.ts';

/** Cached companies, and the characters of the longest one. So the cache stays below about 50 MB. */
const MAX_CACHED = 4_000;
const MAX_CHARACTERS = 8_192;

/** The last report of a company. */
interface Known {
  /** The report before it was cleaned. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly company: CleanCompany;
  /** The terms are numbers of this generation of the dictionary. */
  readonly generation: number;
  batch: number;
  /** In that batch. */
  collected: NormalisedCompany;
}

export class RepeatedCompanies {
  readonly #known = new Map<string, Known>();
  #batch = 0;

  /** Call it after each batch was taken from the collectors. */
  nextBatch(): void {
    this.#batch++;
  }

  /** As `normaliseCompany`. Within a batch, equal reports have the same span of text. @param record is changed */
  normalise(record: Record<string, unknown>, atMs: number, collectors: Collectors): NormalisedCompany | Refusal {
    const { domain } = record;
    const withTerms = collectors.terms !== null;
    const known = typeof domain === 'string' ? this.#known.get(domain) : undefined;
    if (
      known !== undefined &&
      known.generation === generation() &&
      (known.company.terms !== null) === withTerms &&
      isSameValue(known.given, record)
    ) {
      if (known.batch !== this.#batch) {
        known.batch = this.#batch;
        known.collected = collectCompany(known.company, atMs, collectors);
      }
      return known.collected.atMs === atMs ? known.collected : { ...known.collected, atMs };
    }
    const given = { ...record };
    const company = cleanCompany(record, withTerms);
    if ('code' in company) return company;
    const collected = collectCompany(company, atMs, collectors);
    if (typeof domain === 'string') this.#remember(domain, { given, company, generation: generation(), batch: this.#batch, collected });
    return collected;
  }

  /** Another report of a company takes the place of the last one, also when it is too long. */
  #remember(domain: string, known: Known): void {
    this.#known.delete(domain);
    if (known.company.text.length > MAX_CHARACTERS) return;
    const [oldest] = this.#known.keys();
    if (this.#known.size >= MAX_CACHED && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(domain, known);
  }
}

/** Whether two values of JSON are equal, in the same order of members. */
function isSameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [names, others] = [Object.keys(one), Object.keys(other)];
  if (names.length !== others.length) return false;
  for (let at = 0; at < names.length; at++) {
    const name = names[at] as string;
    if (name !== others[at]) return false;
    if (!isSameValue((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name])) return false;
  }
  return true;
}
