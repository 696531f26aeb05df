import { COMPANY_FIELDS, PERSON_FIELDS } from '../client/answer-fields.ts';
import type { StepSpec } from './step-spec.ts';

export const REVEAL: StepSpec<'reveal'> = {
  name: 'reveal',
  description: 'Finds the contact details of a person.',
  fields: PERSON_FIELDS,
  objects: { company: [...COMPANY_FIELDS.keys()] },
  columns: ['email', 'mobile', 'linkedin_url'],
  hasColumnsAlways: false,
  verdicts: null,
};
