import { COMPANY_FIELDS } from '../client/answer-fields.ts';
import type { StepSpec } from './step-spec.ts';

export const COMPANY: StepSpec<'company'> = {
  name: 'company',
  description: 'Finds a company by its domain.',
  fields: COMPANY_FIELDS,
  objects: {},
  columns: ['name', 'domain', 'employees', 'revenue', 'industry', 'stack'],
  hasColumnsAlways: false,
  verdicts: null,
};
