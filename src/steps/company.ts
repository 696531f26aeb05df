import { COMPANY_FIELDS } from '../client/answer-fields.ts';
import type { StepSpec } from './step-spec.ts';

export const COMPANY: StepSpec<'company', 'by'> = {
  name: 'company',
  description: 'Finds a company by its domain.',
  words: /compan|organi[sz]ation|firmograph|business/i,
  isUsual: false,
  keys: ['domain'],
  usual: ['domain'],
  takesDomainOfAddress: true,
  rank: 3,
  options: ['by'],
  lateOptions: ['by'],
  aboutKeys: 'enrich.company.domain is the domain that enrich found.',
  fields: COMPANY_FIELDS,
  columns: ['name', 'domain', 'employees', 'revenue', 'industry', 'stack'],
  verdicts: null,
};
