import { COMPANY_FIELDS } from '../client/answer-fields.ts';
import type { StepSpec } from './step-spec.ts';

export const COMPANY: StepSpec<'company', never> = {
  name: 'company',
  description: 'Finds a company by its domain.',
  words: /compan|organi[sz]ation|firmograph|business/i,
  isUsual: false,
  keys: ['domain'],
  usual: ['domain'],
  takesDomainOfAddress: true,
  rank: 3,
  options: [],
  fields: COMPANY_FIELDS,
  columns: ['name', 'domain', 'employees', 'revenue', 'industry', 'stack'],
  verdicts: null,
};
