/** The types of the fields that Millrace itself reads or writes in columns. Other fields may have any value. Pure. */
import type { LookupStepName } from '../../client/provider-client.ts';
import type { OperationName } from '../compiled-provider.ts';

/** `percent`: a number from 0 to 100. `company`: an object with the fields of a company. */
export type FieldType = 'text' | 'number' | 'percent' | 'boolean' | 'texts' | 'company';

type FieldTypes = ReadonlyMap<string, FieldType>;

const typed = (types: Readonly<Partial<Record<FieldType, string>>>): FieldTypes =>
  new Map(Object.entries(types).flatMap(([type, names]) => names.split(' ').map((name): [string, FieldType] => [name, type as FieldType])));

export const COMPANY_TYPES: FieldTypes = typed({
  text:
    'name legal_name domain employees_range revenue revenue_range industry sector type description phone logo_url linkedin_url ' +
    'twitter_url facebook_url crunchbase_url ticker exchange parent_domain email_pattern',
  number: 'employees revenue_usd founded_year linkedin_followers',
  boolean: 'accepts_all',
  texts: 'stack technologies domain_aliases keywords',
});

const PERSON_TYPES: FieldTypes = typed({
  text:
    'email name first_name middle_name last_name headline title seniority department sub_department summary email_status email_type ' +
    'mobile time_zone linkedin_url twitter_url github_url facebook_url website_url photo_url',
  number: 'email_confidence tenure_months years_experience likelihood',
  boolean: 'verified',
  texts: 'name_aliases personal_emails skills languages',
  company: 'company',
});

const VERDICT_TYPES: FieldTypes = typed({ text: 'email result reason did_you_mean', percent: 'confidence' });

const OF_STEP: Readonly<Record<LookupStepName | 'verify', FieldTypes>> = {
  enrich: PERSON_TYPES,
  reveal: PERSON_TYPES,
  company: COMPANY_TYPES,
  verify: VERDICT_TYPES,
};

export function fieldTypes(step: OperationName): FieldTypes {
  return OF_STEP[step];
}

export const IN_WORDS: Readonly<Record<FieldType, string>> = {
  text: 'text',
  number: 'a number',
  percent: 'a number from 0 to 100',
  boolean: 'true or false',
  texts: 'a list of text',
  company: 'an object',
};
