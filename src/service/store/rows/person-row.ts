/** A person as read from the store. The stored text is parsed only when necessary. */
import { withName } from '../../records/person-name.ts';
import { absentPersonFields, personText, type Match, type SparseRecord } from '../../records/whole-record.ts';
import { shownTime } from '../merge/observed-at.ts';
import { mayHaveFormer, withoutFormerKeys } from '../identity/former-keys.ts';
import { numbersOf } from '../identity/other-numbers.ts';
import { timeText } from './record-columns.ts';

/** The columns of a `PersonRow`. */
export const PERSON_COLUMNS = 'doc, company_domain, email_status, observed_at, absent_fields, id';
/** The columns as a statement that returns arrays has them. */
export type PersonValues = readonly [
  doc: string,
  companyDomain: string | null,
  emailStatus: string | null,
  observedMs: number,
  absentFields: number | null,
  id: string,
];

/** Stored with a person, never part of an answer under this name. */
const INNER = '"company_name":';

export class PersonRow {
  readonly id: string;
  readonly companyDomain: string | null;
  readonly #doc: string;
  readonly #isVerified: boolean;
  readonly #updated: string | null;
  /** Null: the text must be parsed before it is answered. */
  readonly #absentFields: number | null;
  #known: SparseRecord | null = null;

  constructor([doc, companyDomain, emailStatus, observedMs, absentFields, id]: PersonValues) {
    this.id = id;
    this.companyDomain = companyDomain;
    this.#doc = doc;
    this.#isVerified = emailStatus === 'verified';
    this.#updated = updatedAt(observedMs);
    this.#absentFields = absentFields;
  }

  /** @param row `PERSON_COLUMNS` by name */
  static of(row: Readonly<Record<string, unknown>>): PersonRow {
    return new PersonRow([
      row['doc'],
      row['company_domain'],
      row['email_status'],
      row['observed_at'],
      row['absent_fields'],
      row['id'],
    ] as unknown as PersonValues);
  }

  /** Every mobile number of the person, former ones too. */
  get mobiles(): readonly string[] {
    return numbersOf(this.#record, 'mobile');
  }

  /** The person's record without the employer and without former addresses and numbers. */
  get person(): SparseRecord {
    return this.#updated === null ? this.#answered : { ...this.#answered, updated_at: this.#updated };
  }

  /** The employer's name, where nothing else of it is known. */
  get companyName(): string | null {
    if (!this.#doc.includes(INNER)) return null;
    const { company_name: name } = this.#record;
    return typeof name === 'string' ? name : null;
  }

  /** The whole record as JSON. @param company JSON; null without one */
  text(match: Match, company: string | null): string {
    const facts = { isVerified: this.#isVerified, updatedAt: this.#updated, company };
    if (this.#absentFields !== null && !mayHaveFormer(this.#doc)) return personText(this.#doc, facts, match, this.#absentFields);
    const answered = this.#answered;
    return personText(JSON.stringify(answered), facts, match, absentPersonFields(answered));
  }

  get #answered(): SparseRecord {
    const { company_name: _inner, ...person } = this.#record;
    return withName(mayHaveFormer(this.#doc) ? withoutFormerKeys(person) : person);
  }

  get #record(): SparseRecord {
    this.#known ??= JSON.parse(this.#doc) as SparseRecord;
    return this.#known;
  }
}

/** The time of the newest report (RFC 3339); null if reports have none. */
export function updatedAt(observedMs: number): string | null {
  return observedMs === 0 ? null : timeText(shownTime(observedMs));
}
