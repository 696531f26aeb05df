/** The published schema of a search result: who a person is and whether contact data exists, without the data. */
import { ref, type Schema } from '../../http/body-schema.ts';
import { COMPANY_FIELDS } from '../company-fields.ts';
import type { Field } from '../field.ts';
import { PERSON, PERSON_FIELDS } from '../person-fields.ts';
import { COMPANY_PROPERTIES } from './company-schema.ts';
import { PERSON_PROPERTIES } from './person-schema.ts';

/** Without paid fields, and fields about the lookup itself. */
export const PERSON_ROW = PERSON_FIELDS.filter((name) => {
  const { isPaid, isComputed }: Field = PERSON[name];
  return isPaid !== true && isComputed !== true;
});
export const COMPANY_ROW = COMPANY_FIELDS.filter((field) =>
  ['id', 'name', 'domain', 'employees', 'employees_range', 'revenue', 'industry', 'type', 'hq', 'linkedin_url'].includes(field),
);
export const ROW_FIELDS: readonly string[] = [...PERSON_ROW, 'has_email', 'has_mobile', 'company'];

const COMPANY: Schema = {
  type: ['object', 'null'],
  description: 'The most important of the company; all of it is at `GET /v1/companies/{domain}`.',
  required: COMPANY_ROW,
  properties: Object.fromEntries(COMPANY_ROW.map((field) => [field, COMPANY_PROPERTIES[field]])),
};

export const CONTACT: Schema = {
  type: 'object',
  description: 'A contact as a search shows them; with `fields`, those fields alone.',
  properties: {
    ...Object.fromEntries(PERSON_ROW.map((field) => [field, PERSON_PROPERTIES[field]])),
    has_email: { type: 'boolean', description: 'An address can be revealed.' },
    has_mobile: { type: 'boolean', description: 'A number can be revealed.' },
    company: COMPANY,
  },
};

const CURSOR: Schema = { type: ['string', 'null'], description: 'Pass it as `cursor` for the next page; `null`: this is the last.' };

export const CONTACT_PAGE: Schema = {
  type: 'object',
  required: ['data', 'meta'],
  properties: {
    data: { type: 'array', items: ref('Contact') },
    meta: {
      type: 'object',
      required: ['total', 'total_relation', 'limit', 'next_cursor'],
      properties: {
        total: { type: 'integer', minimum: 0, description: 'How many there are.' },
        total_relation: { type: 'string', enum: ['eq', 'gte'], description: 'Whether there are exactly so many, or at least.' },
        limit: { type: 'integer', minimum: 1 },
        next_cursor: CURSOR,
      },
    },
  },
};

export const SIGNAL_PAGE: Schema = {
  type: 'object',
  required: ['data', 'meta'],
  properties: {
    data: { type: 'array', items: ref('Signal') },
    meta: {
      type: 'object',
      required: ['limit', 'next_cursor'],
      properties: { limit: { type: 'integer', minimum: 1 }, next_cursor: CURSOR },
    },
  },
};
