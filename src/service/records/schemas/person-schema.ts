/** The published schema of a person record. */
import { ref, type Schema } from '../../http/body-schema.ts';
import { PERSON, PERSON_FIELDS, type PersonField } from '../person-fields.ts';
import { fieldSchemas, STRING } from './record-schema.ts';

/** Never null. */
const { likelihood, matched_on, verified } = PERSON;
const COMPUTED: Readonly<Record<'likelihood' | 'matched_on' | 'verified', Schema>> = {
  likelihood: { type: ['integer', 'null'], minimum: 0, maximum: 100, description: likelihood.description, examples: [likelihood.example] },
  matched_on: { type: 'array', items: STRING, description: matched_on.description, examples: [matched_on.example] },
  verified: { type: 'boolean', description: verified.description, examples: [verified.example] },
};

/** Every field of a person but `company`, in the order of answers. */
export const PERSON_PROPERTIES: Readonly<Record<PersonField, Schema>> = { ...fieldSchemas(PERSON), ...COMPUTED };

const COMPANY: Schema = { anyOf: [ref('Company'), { type: 'null' }], description: 'Where the person works.' };

export const PERSON_RECORD: Schema = {
  type: 'object',
  description: 'Everything that is known of a person; `null` where nothing is. New fields may come.',
  properties: { ...PERSON_PROPERTIES, company: COMPANY },
};

export const REVEALED: Schema = {
  type: 'object',
  description: 'A contact with everything by which they can be reached.',
  required: [...PERSON_FIELDS, 'credits_charged', 'company'],
  properties: {
    ...PERSON_PROPERTIES,
    credits_charged: { type: 'integer', minimum: 0, description: 'What this cost, when it was first answered.', examples: [1] },
    company: COMPANY,
  },
};
