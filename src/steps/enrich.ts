import { COMPANY_FIELDS, PERSON_FIELDS } from '../client/answer-fields.ts';
import type { StepSpec } from './step-spec.ts';

export const ENRICH: StepSpec<'enrich'> = {
  name: 'enrich',
  description: 'Finds a person, or a company by its domain.',
  fields: PERSON_FIELDS,
  objects: { company: [...COMPANY_FIELDS.keys()] },
  columns: ['email', 'name', 'title', 'company.name', 'company.employees', 'company.revenue', 'company.stack', 'verified'],
  hasColumnsAlways: true,
  verdicts: null,
};
