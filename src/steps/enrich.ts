import { PERSON_FIELDS } from '../client/answer-fields.ts';
import type { StepSpec } from './step-spec.ts';

export const ENRICH: StepSpec<'enrich', 'by' | 'minLikelihood' | 'required'> = {
  name: 'enrich',
  description: 'Finds a person, or a company by its domain.',
  words: /enrich|person|people|profile|match|lookup|lead|contact/i,
  isUsual: true,
  keys: ['email', 'linkedin_url', 'phone', 'name', 'domain'],
  usual: ['email', 'domain'],
  moreKeys: ['company'],
  hasDomainField: true,
  rank: 1,
  options: ['by', 'minLikelihood', 'required'],
  aboutKeys: 'name goes together with the domain; a domain alone finds the company.',
  fields: PERSON_FIELDS,
  columns: ['email', 'name', 'title', 'company.name', 'company.employees', 'company.revenue', 'company.stack', 'verified'],
  verdicts: null,
};
