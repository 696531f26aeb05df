/** A person as the store has them, whose kept text is read only when it must be. */
import { withName } from '../person-name.ts';
import { personText, type Match, type SparseRecord } from '../records.ts';
import { timeText } from './kept-columns.ts';

/** What a query has to ask for to make a `PersonRow` of. */
export const PERSON_COLUMNS = 'doc, company_domain, email_status, observed_at, lacks, id';
/** The same, as a statement that returns arrays has them. */
export type PersonValues = readonly [doc: string, companyDomain: string | null, emailStatus: string | null, observedMs: number, lacking: number | null, id: string];

/** Kept with a person, and never answered by that name. */
const INNER = '"company_name":';

export class PersonRow {
  readonly id: string;
  readonly companyDomain: string | null;
  readonly #doc: string;
  readonly #isVerified: boolean;
  readonly #updated: string | null;
  /** Null: the text has to be read before it is answered. */
  readonly #lacking: number | null;
  #known: SparseRecord | null = null;

  constructor([doc, companyDomain, emailStatus, observedMs, lacking, id]: PersonValues) {
    this.id = id;
    this.companyDomain = companyDomain;
    this.#doc = doc;
    this.#isVerified = emailStatus === 'verified';
    this.#updated = updatedAt(observedMs);
    this.#lacking = lacking;
  }

  /** @param row `PERSON_COLUMNS` by their names */
  static of(row: Readonly<Record<string, unknown>>): PersonRow {
    return new PersonRow([row['doc'], row['company_domain'], row['email_status'], row['observed_at'], row['lacks'], row['id']] as unknown as PersonValues);
  }

  /** What is known of the person, but for where they work. */
  get person(): SparseRecord {
    return this.#updated === null ? this.#answered : { ...this.#answered, updated_at: this.#updated };
  }

  /** Where the company's name is all that is known of it. */
  get companyName(): string | null {
    if (!this.#doc.includes(INNER)) return null;
    const { company_name: name } = this.#record;
    return typeof name === 'string' ? name : null;
  }

  /** The whole record as JSON text, with the company's (null: none) in it. */
  text(match: Match, company: string | null): string {
    const kept = this.#lacking === null ? JSON.stringify(this.#answered) : this.#doc;
    return personText(kept, { isVerified: this.#isVerified, updatedAt: this.#updated, company }, match, this.#lacking);
  }

  get #answered(): SparseRecord {
    const { company_name: _inner, ...person } = this.#record;
    return withName(person);
  }

  get #record(): SparseRecord {
    this.#known ??= JSON.parse(this.#doc) as SparseRecord;
    return this.#known;
  }
}

/** When the newest of a record was reported (RFC 3339); null where nobody said. */
export function updatedAt(observedMs: number): string | null {
  return observedMs === 0 ? null : timeText(observedMs);
}
