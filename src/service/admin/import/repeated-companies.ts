/** The companies of contacts. Many rows have the same one: it is cleaned once, and is once in a batch. Pure. */
import { LruMap } from '../../../util/lru-map.ts';
import { generation } from '../../store/index/term-dictionary.ts';
import { cleanCompany, collectCompany, type CleanCompany, type NormalisedCompany } from '../../store/rows/normalised-company.ts';
import type { Collectors } from '../../store/rows/normalised.ts';
import type { Refusal } from '../../store/rows/upsert-result.ts';
import { isShared } from './company-texts.ts';
import type { ReportedCompany } from './contact.ts';

/** Characters of all cached companies of tables, and of the longest one. Those of JSON lines live as long as their text is cached. */
const MAX_CHARACTERS = 8 * 1024 * 1024;
const MAX_COMPANY_CHARACTERS = 8_192;

/** A report of a company that is known. */
export interface KnownCompany {
  /** The report before it was cleaned; null for one that is recognised by its object. */
  readonly given: Readonly<Record<string, unknown>> | null;
  readonly domain: string;
  /** The time of the report, if it has one of its own; epoch milliseconds. */
  readonly ownMs: number | null;
  readonly company: CleanCompany;
  /** Its number, from 1. */
  readonly report: number;
  /** The terms are numbers of this generation of the dictionary. */
  readonly generation: number;
  batch: number;
  /** In that batch. */
  collected: NormalisedCompany;
}

interface Report {
  readonly reported: ReportedCompany;
  readonly ownMs: number | null;
  /** The time of a report without one of its own: that of the row. */
  readonly atMs: number;
}

export class RepeatedCompanies {
  /** By domain; another report of a company takes the place of the last one. */
  readonly #known = new LruMap<string, KnownCompany>(MAX_CHARACTERS);
  /** By the object that rows share. */
  readonly #shared = new WeakMap<object, KnownCompany>();
  #batch = 0;
  #reports = 0;

  /** Call it after each batch was taken from the collectors. */
  nextBatch(): void {
    this.#batch++;
  }

  /** The report of an earlier row with the same object; null when it must be read. */
  find({ values, domain }: ReportedCompany, withTerms: boolean): KnownCompany | null {
    const known = this.#shared.get(values);
    return known !== undefined && known.domain === domain && isValid(known, withTerms) ? known : null;
  }

  /** The result of `normalise` for the same report: with the same number, and within a batch the same span of text. */
  again(known: KnownCompany, rowMs: number, collectors: Collectors): NormalisedCompany {
    const atMs = known.ownMs ?? rowMs;
    if (known.batch !== this.#batch) {
      known.batch = this.#batch;
      known.collected = collectCompany(known.company, atMs, collectors, known.report);
    }
    return known.collected.atMs === atMs ? known.collected : { ...known.collected, atMs };
  }

  /** As `normaliseCompany`. @param record is changed */
  normalise(
    record: Record<string, unknown>,
    { reported, ownMs, atMs: rowMs }: Report,
    collectors: Collectors,
  ): NormalisedCompany | Refusal {
    const { values, domain } = reported;
    const withTerms = collectors.terms !== null;
    const before = this.#known.get(domain);
    if (before !== undefined && isValid(before, withTerms) && isSameValue(before.given, record))
      return this.again(before, rowMs, collectors);
    const given = isShared(values) ? null : { ...record };
    const company = cleanCompany(record, withTerms);
    if ('code' in company) return company;
    const report = ++this.#reports;
    const collected = collectCompany(company, ownMs ?? rowMs, collectors, report);
    const known = { given, domain, ownMs, company, report, generation: generation(), batch: this.#batch, collected };
    if (given === null) this.#shared.set(values, known);
    else this.#remember(known);
    return collected;
  }

  #remember(known: KnownCompany): void {
    const { length } = known.company.text;
    this.#known.delete(known.domain);
    if (length <= MAX_COMPANY_CHARACTERS) this.#known.set(known.domain, known, length);
  }
}

function isValid(known: KnownCompany, withTerms: boolean): boolean {
  return known.generation === generation() && (known.company.terms !== null) === withTerms;
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
