import { PERSON_FIELDS } from '../client/answer-fields.ts';
import type { StepSpec } from './step-spec.ts';

export const REVEAL: StepSpec<'reveal', 'by'> = {
  name: 'reveal',
  description: 'Finds the contact details of a person.',
  words: /finder|find.?(?:email|phone|mobile|contact)|email.?find|reveal|phone|mobile|contact.?detail/i,
  isUsual: false,
  keys: ['linkedin_url', 'email', 'phone', 'name', 'company'],
  usual: ['linkedin_url'],
  rank: 2,
  options: ['by'],
  aboutKeys: 'name goes together with the domain, or else the name of the company. enrich.linkedin_url is the profile that enrich found.',
  fields: PERSON_FIELDS,
  columns: ['email', 'mobile', 'linkedin_url'],
  verdicts: null,
};
