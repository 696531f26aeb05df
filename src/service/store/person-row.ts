/** A person as the store has them, whose kept text is read only when it must be. */
import { withName } from '../person-name.ts';
import { personText, type Match, type SparseRecord } from '../records.ts';
import { timeText } from './kept-columns.ts';

/** What a query has to ask for to make a `PersonRow` of. */
export const PERSON_COLUMNS = 'doc, company_domain, email_status, observed_at';

/** Kept with a person, and never answered by that name. */
const INNER = '"company_name":';
/** A text whose name need not be made of its parts: nearly all begin like that. */
const NAMED = /^\{(?:"id":"[^"\\]*",)?(?:"email":"[^"\\]*",)?"name":/;

export class PersonRow {
  readonly companyDomain: string | null;
  readonly #doc: string;
  readonly #isVerified: boolean;
  readonly #updated: string | null;
  #known: SparseRecord | null = null;

  /** @param row `PERSON_COLUMNS` of `people` */
  constructor(row: Readonly<Record<string, unknown>>) {
    this.companyDomain = row['company_domain'] as string | null;
    this.#doc = row['doc'] as string;
    this.#isVerified = row['email_status'] === 'verified';
    this.#updated = updatedAt(row);
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
    const more = this.#updated === null ? {} : { updated_at: `"${this.#updated}"` };
    const kept = NAMED.test(this.#doc) && !this.#doc.includes(INNER) ? this.#doc : JSON.stringify(this.#answered);
    return personText(kept, more, this.#isVerified, match, company);
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
export function updatedAt(row: Readonly<Record<string, unknown>>): string | null {
  const ms = row['observed_at'] as number;
  return ms === 0 ? null : timeText(ms);
}
