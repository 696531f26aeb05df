/** The person record as it is answered. */
import { PERSON_TYPES } from '../../field-types.ts';
import { ref, type Schema } from '../../openapi/schema.ts';
import { PERSON_FIELDS } from '../../records.ts';
import { fieldSchema, STRING, type Saying } from './fields.ts';

type Field = (typeof PERSON_FIELDS)[number];
/** What an answer says of itself and not of the person. */
type Computed = 'likelihood' | 'matched_on' | 'verified';

const SAYINGS: Readonly<Record<Exclude<Field, Computed>, Saying>> = {
  id: { says: 'Stable for as long as the person is known.', example: 'pe_000002' },
  email: { says: 'Work address.', example: 'imani.irving@cobalt-materials.example' },
  name: { says: 'Full name.', example: 'Imani Irving' },
  first_name: { says: 'Given name.', example: 'Imani' },
  middle_name: { says: 'Middle name.' },
  last_name: { says: 'Family name.', example: 'Irving' },
  name_aliases: { says: 'Other ways in which the name is written.', example: ['Seoyeon Jung'] },
  headline: { says: 'How the person introduces themselves.', example: 'Senior HR Business Partner at Cobalt Materials' },
  title: { says: 'Job title.', example: 'Senior HR Business Partner' },
  seniority: { says: 'Such as `entry`, `mid`, `senior`, `lead`, `director`, `vp`, `c_suite`; there may be others.', example: 'senior' },
  department: { says: 'Such as `engineering`, `sales`, `people`; there may be others.', example: 'people' },
  sub_department: { says: 'Part of the department.', example: 'people partners' },
  summary: { says: 'What the person says of themselves.' },
  role_started_on: { says: 'First day in the present role.', example: '2020-02-27' },
  tenure_months: { says: 'Months in the present role, when it was reported.', example: 76 },
  years_experience: { says: 'Years at work.', example: 13 },
  job_changed_at: { says: 'When the person changed jobs last.', example: '2020-02-27T00:00:00Z' },
  email_status: { says: '`verified`, `risky`, `unverified`, `bounced`; there may be others.', example: 'verified' },
  email_type: { says: '`work` or `personal`; there may be others.', example: 'work' },
  email_confidence: { says: 'How sure the address is, 0 to 100.', example: 98 },
  email_verified_at: { says: 'When that was learnt.', example: '2025-10-19T00:00:00Z' },
  emails: { says: 'All known addresses.' },
  personal_emails: { says: 'Private addresses.' },
  mobile: { says: 'Mobile number (E.164).', example: '+12125550100' },
  phones: { says: 'All known numbers.' },
  location: { says: 'Where the person is.' },
  time_zone: { says: 'Name in the IANA database.', example: 'America/Los_Angeles' },
  linkedin_url: { says: 'Professional profile.', example: 'https://profiles.example/in/imani-irving-1001' },
  linkedin_id: { says: 'The profile\'s id.' },
  twitter_url: { says: 'Profile there.' },
  github_url: { says: 'Profile there.' },
  facebook_url: { says: 'Profile there.' },
  website_url: { says: 'The person\'s own site.' },
  photo_url: { says: 'A picture.' },
  skills: { says: 'Skills.', example: ['Onboarding', 'Coaching'] },
  languages: { says: 'Languages.', example: ['English'] },
  certifications: { says: 'Certifications.' },
  education: { says: 'Schools.' },
  employment_history: { says: 'Present and earlier roles.' },
  sources_count: { says: 'How many sources the record is from.', example: 3 },
  first_seen_at: { says: 'When the person was first known.', example: '2021-04-22T00:00:00Z' },
  updated_at: { says: 'When the newest of the record was reported.', example: '2025-05-01T00:00:00Z' },
};

const COMPUTED: Readonly<Record<Computed, Schema>> = {
  likelihood: { type: ['integer', 'null'], minimum: 0, maximum: 100, description: 'How sure it is that this is who was asked for; `null` when a company was.', examples: [98] },
  matched_on: { type: 'array', items: STRING, description: 'By what it was found.', examples: [['email']] },
  verified: { type: 'boolean', description: 'Whether the address is verified.', examples: [true] },
};

/** Every field of a person but `company`, in the order in which it is sent. */
export const PERSON_PROPERTIES = Object.fromEntries(
  PERSON_FIELDS.map((field) => [field, isComputed(field) ? COMPUTED[field] : fieldSchema(field, PERSON_TYPES[field], SAYINGS[field])]),
) as Readonly<Record<Field, Schema>>;

function isComputed(field: Field): field is Computed {
  return Object.hasOwn(COMPUTED, field);
}

const COMPANY: Schema = { anyOf: [ref('Company'), { type: 'null' }], description: 'Where the person works.' };

export const PERSON: Schema = { type: 'object', description: 'Everything that is known of a person; `null` where nothing is. New fields may come.', properties: { ...PERSON_PROPERTIES, company: COMPANY } };

export const REVEALED: Schema = {
  type: 'object',
  description: 'A contact with everything by which they can be reached.',
  required: [...PERSON_FIELDS, 'credits_charged', 'company'],
  properties: { ...PERSON_PROPERTIES, credits_charged: { type: 'integer', minimum: 0, description: 'What this cost, when it was first answered.', examples: [1] }, company: COMPANY },
};
