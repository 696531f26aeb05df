import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { completer } from '../../../src/service/records/stored-text.ts';
import { RECORD_FIELDS } from '../../../src/service/records/whole-record.ts';
import { COMPANY_FIELDS } from '../../../src/service/records/company-fields.ts';

const FIELDS = ['id', 'name', 'title', 'location', 'skills', 'likelihood'] as const;
/** The stored fields in the order of their bits. New fields must come last. */
const STORED_OF_PEOPLE = [
  'id email name first_name middle_name last_name name_aliases headline title seniority department sub_department summary',
  'role_started_on tenure_months years_experience job_changed_at email_status email_type email_confidence email_verified_at',
  'emails personal_emails mobile phones location time_zone linkedin_url linkedin_id twitter_url github_url facebook_url',
  'website_url photo_url skills languages certifications education employment_history sources_count first_seen_at',
].flatMap((line) => line.split(' '));
const STORED_OF_COMPANIES = [
  'id name legal_name domain employees employees_range revenue revenue_usd revenue_range industry sector type description',
  'founded_year stack technologies hq locations phone logo_url linkedin_url linkedin_followers twitter_url facebook_url',
  'crunchbase_url ticker exchange parent_domain subsidiaries domain_aliases email_provider email_pattern accepts_all naics',
  'sic keywords employees_by_department employees_by_country headcount_growth funding hiring',
].flatMap((line) => line.split(' '));
/** Members that every answer adds, and no stored text has. */
const GIVEN = ['updated_at', 'likelihood', 'matched_on', 'verified', 'company', 'signals'];

/** Records as stored: names without escapes, any values. */
const record = fc.dictionary(
  fc.constantFrom(...FIELDS.slice(0, 5), 'further'),
  fc.oneof(fc.jsonValue(), fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', 'é') })),
);

describe('a stored text', () => {
  it('a stored text becomes a whole record: its own members, the given ones, and null for the rest', () => {
    const whole = completer([...FIELDS, 'company'], ['likelihood', 'company']);
    fc.assert(
      fc.property(record, (known) => {
        const given = { likelihood: 98, company: { name: 'Acme' } };
        const text = whole.complete(JSON.stringify(known), JSON.stringify(given).slice(1, -1), whole.absentFields(known));
        expect(JSON.parse(text)).toEqual(
          JSON.parse(JSON.stringify({ ...Object.fromEntries(FIELDS.map((field) => [field, null])), ...known, ...given })),
        );
      }),
    );
  });

  it('a stored text is answered with null for a field that was declared after the record was stored', () => {
    const then = completer(FIELDS, ['likelihood']);
    const now = completer([...FIELDS.slice(0, 5), 'pronouns', 'likelihood'], ['likelihood']);
    const record = { id: 'pe_1', skills: [] };
    const text = now.complete(JSON.stringify(record), '"likelihood":98', then.absentFields(record));
    expect(JSON.parse(text)).toEqual({ ...record, name: null, title: null, location: null, pronouns: null, likelihood: 98 });
  });

  it.each([
    ['companies', STORED_OF_COMPANIES, COMPANY_FIELDS],
    ['people', STORED_OF_PEOPLE, RECORD_FIELDS],
  ])('a stored text of %s has a fixed bit for each field', (_kind, stored, fields) => {
    expect(fields.filter((field) => !GIVEN.includes(field)).slice(0, stored.length)).toEqual(stored);
    expect(fields.length).toBeLessThanOrEqual(53);
  });
});
