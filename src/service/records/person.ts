/**
 * The person record: the one table of its fields, in the order of the answers. Pure.
 * A new field comes before `updated_at`; a store that is there needs a migration that sets `lacks` to null (`kept-text.ts`).
 */
import { importedFields, PLACE, type Field, type RecordFields } from './field.ts';

export const PERSON = {
  id: { type: 'string', says: 'Stable for as long as the person is known.', example: 'pe_000002' },
  email: { type: 'email', isPaid: true, says: 'Work address.', example: 'imani.irving@cobalt-materials.example' },
  name: { type: 'string', says: 'Full name.', example: 'Imani Irving' },
  first_name: { type: 'string', says: 'Given name.', example: 'Imani' },
  middle_name: { type: 'string', says: 'Middle name.' },
  last_name: { type: 'string', says: 'Family name.', example: 'Irving' },
  name_aliases: { type: 'strings', says: 'Other ways in which the name is written.', example: ['Seoyeon Jung'] },
  headline: { type: 'string', says: 'How the person introduces themselves.', example: 'Senior HR Business Partner at Cobalt Materials' },
  title: { type: 'string', says: 'Job title.', example: 'Senior HR Business Partner' },
  seniority: { type: 'word', says: 'Such as `entry`, `mid`, `senior`, `lead`, `director`, `vp`, `c_suite`; there may be others.', example: 'senior' },
  department: { type: 'word', says: 'Such as `engineering`, `sales`, `people`; there may be others.', example: 'people' },
  sub_department: { type: 'string', says: 'Part of the department.', example: 'people partners' },
  summary: { type: 'string', says: 'What the person says of themselves.' },
  role_started_on: { type: 'date', says: 'First day in the present role.', example: '2020-02-27' },
  tenure_months: { type: 'integer', says: 'Months in the present role, when it was reported.', example: 76 },
  years_experience: { type: 'integer', says: 'Years at work.', example: 13 },
  job_changed_at: { type: 'time', says: 'When the person changed jobs last.', example: '2020-02-27T00:00:00Z' },
  email_status: { type: 'word', says: '`verified`, `risky`, `unverified`, `bounced`; there may be others.', example: 'verified' },
  email_type: { type: 'word', says: '`work` or `personal`; there may be others.', example: 'work' },
  email_confidence: { type: 'integer', says: 'How sure the address is, 0 to 100.', example: 98 },
  email_verified_at: { type: 'time', says: 'When that was learnt.', example: '2025-10-19T00:00:00Z' },
  emails: {
    type: 'objects', isPaid: true, says: 'All known addresses.',
    fields: { email: 'address', type: 'string', status: 'string' }, textAs: { field: 'email', type: 'email' },
  },
  personal_emails: { type: 'addresses', isPaid: true, says: 'Private addresses.' },
  mobile: { type: 'phone', isPaid: true, says: 'Mobile number (E.164).', example: '+12125550100' },
  phones: {
    type: 'objects', isPaid: true, says: 'All known numbers.',
    fields: { number: 'telephone', type: 'string' }, textAs: { field: 'number', type: 'phone' },
  },
  location: { type: 'object', says: 'Where the person is.', fields: PLACE },
  time_zone: { type: 'string', says: 'Name in the IANA database.', example: 'America/Los_Angeles' },
  linkedin_url: { type: 'string', says: 'Professional profile.', example: 'https://profiles.example/in/imani-irving-1001' },
  linkedin_id: { type: 'string', says: 'The profile\'s id.' },
  twitter_url: { type: 'string', says: 'Profile there.' },
  github_url: { type: 'string', says: 'Profile there.' },
  facebook_url: { type: 'string', says: 'Profile there.' },
  website_url: { type: 'string', says: 'The person\'s own site.' },
  photo_url: { type: 'string', says: 'A picture.' },
  skills: { type: 'strings', says: 'Skills.', example: ['Onboarding', 'Coaching'] },
  languages: { type: 'strings', says: 'Languages.', example: ['English'] },
  // Days within objects may be known by month or year alone, so they are text.
  certifications: { type: 'objects', says: 'Certifications.', fields: { name: 'string', issuer: 'string', issued_on: 'string' } },
  education: { type: 'objects', says: 'Schools.', fields: { school: 'string', degree: 'string', started_on: 'string', ended_on: 'string' } },
  employment_history: {
    type: 'objects', says: 'Present and earlier roles.',
    fields: { title: 'string', company: 'string', domain: 'string', started_on: 'string', ended_on: 'string', is_current: 'boolean' },
  },
  likelihood: { type: 'integer', isComputed: true, says: 'How sure it is that this is who was asked for; `null` when a company was.', example: 98 },
  matched_on: { type: 'strings', isComputed: true, says: 'By what it was found.', example: ['email'] },
  sources_count: { type: 'integer', says: 'How many sources the record is from.', example: 3 },
  first_seen_at: { type: 'time', says: 'When the person was first known.', example: '2021-04-22T00:00:00Z' },
  updated_at: { type: 'time', says: 'When the newest of the record was reported.', example: '2025-05-01T00:00:00Z' },
  verified: { type: 'boolean', isComputed: true, says: 'Whether the address is verified.', example: true },
} as const satisfies RecordFields;

export type PersonField = keyof typeof PERSON;

/** Every field of a person record but `company`, which comes last. */
export const PERSON_FIELDS = Object.keys(PERSON) as readonly PersonField[];

/** What an import brings of a person, and where it says that they work: the answer's `company` is made of that. */
export const IMPORTED_PERSON: Readonly<Record<string, Field>> = {
  ...importedFields<string>(PERSON), company_domain: { type: 'domain' }, company_name: { type: 'string' },
};
