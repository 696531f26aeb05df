/** The fields of answers in the specification. They tell a misspelt path from a field that only one service has. Pure. */
import { STEPS, type Step } from './steps.ts';
import { nearest } from '../util/nearest.ts';

const COMPANY = [
  'id',
  'name',
  'legal_name',
  'domain',
  'employees',
  'employees_range',
  'revenue',
  'revenue_usd',
  'revenue_range',
  'industry',
  'sector',
  'type',
  'description',
  'founded_year',
  'stack',
  'technologies',
  'hq',
  'locations',
  'phone',
  'logo_url',
  'linkedin_url',
  'linkedin_followers',
  'twitter_url',
  'facebook_url',
  'crunchbase_url',
  'ticker',
  'exchange',
  'parent_domain',
  'subsidiaries',
  'domain_aliases',
  'email_provider',
  'email_pattern',
  'accepts_all',
  'naics',
  'sic',
  'keywords',
  'employees_by_department',
  'employees_by_country',
  'headcount_growth',
  'funding',
  'hiring',
  'signals',
  'updated_at',
];
const PERSON = [
  'id',
  'email',
  'name',
  'first_name',
  'middle_name',
  'last_name',
  'name_aliases',
  'headline',
  'title',
  'seniority',
  'department',
  'sub_department',
  'summary',
  'role_started_on',
  'tenure_months',
  'years_experience',
  'job_changed_at',
  'email_status',
  'email_type',
  'email_confidence',
  'email_verified_at',
  'emails',
  'personal_emails',
  'mobile',
  'phones',
  'location',
  'time_zone',
  'linkedin_url',
  'linkedin_id',
  'twitter_url',
  'github_url',
  'facebook_url',
  'website_url',
  'photo_url',
  'skills',
  'languages',
  'certifications',
  'education',
  'employment_history',
  'likelihood',
  'matched_on',
  'sources_count',
  'first_seen_at',
  'updated_at',
  'verified',
  'company',
];
const VERDICT = [
  'email',
  'normalized',
  'result',
  'reason',
  'confidence',
  'verified',
  'flags',
  'did_you_mean',
  'domain',
  'mx',
  'smtp',
  'checks',
  'score_factors',
  'score_version',
  'attempts',
  'retry_at',
  'verified_at',
  'expires_at',
  'cached',
];

/** Fields by the path of their object. An object that is missing here may hold any field. */
export const RESULT_FIELDS: Readonly<Record<string, readonly string[]>> = {
  result: ['outcome', 'error', 'did_you_mean'],
  enrich: PERSON,
  'enrich.company': COMPANY,
  company: COMPANY,
  reveal: PERSON,
  'reveal.company': COMPANY,
  verify: VERDICT,
  'verify.flags': ['disposable', 'relay', 'role', 'free', 'accept_all', 'mailbox_full', 'disabled', 'smtputf8'],
  'verify.domain': ['ascii', 'unicode', 'registrable'],
  'verify.mx': ['found', 'implicit', 'null_mx', 'records', 'provider'],
  'verify.smtp': ['stage', 'host', 'code', 'enhanced_code', 'message', 'tls', 'greylisted'],
};
const ROOTS = ['result', ...STEPS];
const PATHS = Object.entries(RESULT_FIELDS).flatMap(([object, fields]) => fields.map((field) => `${object}.${field}`));

interface FieldCheck {
  readonly step: Step | null;
  /** `unknown`: the specification has neither the field nor a similar name. */
  readonly field: 'known' | 'misspelt' | 'unknown' | 'no_path';
  /** The suggested path. */
  readonly suggestion: string | null;
}

/** @param path such as `enrich.company.name`; not `input.<column>` */
export function checkPath(path: string): FieldCheck {
  const parts = path.split('.');
  const [root = ''] = parts;
  const step = STEPS.find((name) => name === root) ?? null;
  if (parts.length < 2 || !ROOTS.includes(root) || !/^[a-z]+(?:\.[A-Za-z0-9_]+)+$/.test(path))
    return { step: null, field: 'no_path', suggestion: suggest(path) };
  let object = root;
  for (const [index, part] of parts.slice(1).entries()) {
    const fields = RESULT_FIELDS[object];
    if (fields === undefined) break;
    if (!fields.includes(part)) {
      const near = nearest(part, fields);
      const rest = parts.slice(index + 2);
      if (near !== null) return { step, field: 'misspelt', suggestion: [object, near, ...rest].join('.') };
      return { step, field: root === 'result' ? 'no_path' : 'unknown', suggestion: null };
    }
    object = `${object}.${part}`;
  }
  return { step, field: 'known', suggestion: null };
}

/** The nearest complete path; else a path that ends in the given field. */
function suggest(path: string): string | null {
  const near = nearest(path, PATHS);
  if (near !== null) return near;
  const last = path.slice(path.lastIndexOf('.') + 1);
  const field = nearest(
    last,
    PATHS.map((known) => known.slice(known.lastIndexOf('.') + 1)),
  );
  return field === null ? null : (PATHS.find((known) => known.endsWith(`.${field}`)) ?? null);
}
