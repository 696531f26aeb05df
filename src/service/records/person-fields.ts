/**
 * The person record: the one table of its fields, in the order of the answers. Pure. A new field comes right before `updated_at`, because
 * stored records know fields by their position (`stored-text.ts`). This table decides
 * for import, store, REST, search rows, GraphQL, webhooks, batches, export and OpenAPI. `docs/CONTRIBUTING.md` names the tests of a field.
 */
import { importedFields, PLACE, type Field, type RecordFields } from './field.ts';

export const PERSON = {
  id: { type: 'string', description: 'Stable for as long as the person is known.', example: 'pe_000002' },
  email: { type: 'email', isPaid: true, description: 'Work address.', example: 'imani.irving@cobalt-materials.example' },
  name: { type: 'string', description: 'Full name.', example: 'Imani Irving' },
  first_name: { type: 'string', description: 'Given name.', example: 'Imani' },
  middle_name: { type: 'string', description: 'Middle name.' },
  last_name: { type: 'string', description: 'Family name.', example: 'Irving' },
  name_aliases: { type: 'strings', description: 'Other ways in which the name is written.', example: ['Seoyeon Jung'] },
  headline: {
    type: 'string',
    description: 'How the person introduces themselves.',
    example: 'Senior HR Business Partner at Cobalt Materials',
  },
  title: { type: 'string', description: 'Job title.', example: 'Senior HR Business Partner' },
  seniority: {
    type: 'word',
    description: 'Such as `entry`, `mid`, `senior`, `lead`, `director`, `vp`, `c_suite`; there may be others.',
    example: 'senior',
  },
  department: { type: 'word', description: 'Such as `engineering`, `sales`, `people`; there may be others.', example: 'people' },
  sub_department: { type: 'string', description: 'Part of the department.', example: 'people partners' },
  summary: { type: 'string', description: 'What the person says of themselves.' },
  role_started_on: { type: 'date', description: 'First day in the present role.', example: '2020-02-27' },
  tenure_months: { type: 'integer', description: 'Months in the present role, when it was reported.', example: 76 },
  years_experience: { type: 'integer', description: 'Years at work.', example: 13 },
  job_changed_at: { type: 'time', description: 'When the person changed jobs last.', example: '2020-02-27T00:00:00Z' },
  email_status: { type: 'word', description: '`verified`, `risky`, `unverified`, `bounced`; there may be others.', example: 'verified' },
  email_type: { type: 'word', description: '`work` or `personal`; there may be others.', example: 'work' },
  email_confidence: { type: 'integer', description: 'How sure the address is, 0 to 100.', example: 98 },
  email_verified_at: { type: 'time', description: 'When that was learnt.', example: '2025-10-19T00:00:00Z' },
  emails: {
    type: 'objects',
    isPaid: true,
    description: 'All known addresses.',
    fields: { email: 'address', type: 'string', status: 'string' },
    textAs: { field: 'email', type: 'email' },
  },
  personal_emails: { type: 'addresses', isPaid: true, description: 'Private addresses.' },
  mobile: { type: 'phone', isPaid: true, description: 'Mobile number (E.164).', example: '+12125550100' },
  phones: {
    type: 'objects',
    isPaid: true,
    description: 'All known numbers.',
    fields: { number: 'telephone', type: 'string' },
    textAs: { field: 'number', type: 'phone' },
  },
  location: { type: 'object', description: 'Where the person is.', fields: PLACE },
  time_zone: { type: 'string', description: 'Name in the IANA database.', example: 'America/Los_Angeles' },
  linkedin_url: { type: 'string', description: 'Professional profile.', example: 'https://profiles.example/in/imani-irving-1001' },
  linkedin_id: { type: 'string', description: "The profile's id." },
  twitter_url: { type: 'string', description: 'Profile there.' },
  github_url: { type: 'string', description: 'Profile there.' },
  facebook_url: { type: 'string', description: 'Profile there.' },
  website_url: { type: 'string', description: "The person's own site." },
  photo_url: { type: 'string', description: 'A picture.' },
  skills: { type: 'strings', description: 'Skills.', example: ['Onboarding', 'Coaching'] },
  languages: { type: 'strings', description: 'Languages.', example: ['English'] },
  certifications: {
    type: 'objects',
    description: 'Certifications.',
    fields: { name: 'string', issuer: 'string', issued_on: 'partial_date' },
  },
  education: {
    type: 'objects',
    description: 'Schools.',
    fields: { school: 'string', degree: 'string', started_on: 'partial_date', ended_on: 'partial_date' },
  },
  employment_history: {
    type: 'objects',
    description: 'Present and earlier roles.',
    fields: {
      title: 'string',
      company: 'string',
      domain: 'string',
      started_on: 'partial_date',
      ended_on: 'partial_date',
      is_current: 'boolean',
    },
  },
  likelihood: {
    type: 'integer',
    isComputed: true,
    description: 'How sure it is that this is who was asked for; `null` when a company was.',
    example: 98,
  },
  matched_on: { type: 'strings', isComputed: true, description: 'By what it was found.', example: ['email'] },
  sources_count: { type: 'integer', description: 'How many sources the record is from.', example: 3 },
  first_seen_at: { type: 'time', description: 'When the person was first known.', example: '2021-04-22T00:00:00Z' },
  updated_at: { type: 'time', description: 'When the newest of the record was reported.', example: '2025-05-01T00:00:00Z' },
  verified: { type: 'boolean', isComputed: true, description: 'Whether the address is verified.', example: true },
} as const satisfies RecordFields;

export type PersonField = keyof typeof PERSON;

/** Every field of a person record but `company`, which comes last. */
export const PERSON_FIELDS = Object.keys(PERSON) as readonly PersonField[];

/** The fields that an import accepts of a person, with the employer, from which the answer's `company` is made. */
export const IMPORTED_PERSON: Readonly<Record<string, Field>> = {
  ...importedFields<string>(PERSON),
  company_domain: { type: 'domain' },
  company_name: { type: 'string' },
};
