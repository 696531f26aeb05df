/** The person record as it is answered. */
import { ref, type Schema } from '../../openapi/schema.ts';
import { PERSON, PERSON_FIELDS, type PersonField } from '../../records/person.ts';
import { fieldSchemas, STRING } from './fields.ts';

/** Every answer says these. */
const { likelihood, matched_on, verified } = PERSON;
const COMPUTED: Readonly<Record<'likelihood' | 'matched_on' | 'verified', Schema>> = {
  likelihood: { type: ['integer', 'null'], minimum: 0, maximum: 100, description: likelihood.says, examples: [likelihood.example] },
  matched_on: { type: 'array', items: STRING, description: matched_on.says, examples: [matched_on.example] },
  verified: { type: 'boolean', description: verified.says, examples: [verified.example] },
};

/** Every field of a person but `company`, in the order in which it is sent. */
export const PERSON_PROPERTIES: Readonly<Record<PersonField, Schema>> = { ...fieldSchemas(PERSON), ...COMPUTED };

const COMPANY: Schema = { anyOf: [ref('Company'), { type: 'null' }], description: 'Where the person works.' };

export const PERSON_RECORD: Schema = { type: 'object', description: 'Everything that is known of a person; `null` where nothing is. New fields may come.', properties: { ...PERSON_PROPERTIES, company: COMPANY } };

export const REVEALED: Schema = {
  type: 'object',
  description: 'A contact with everything by which they can be reached.',
  required: [...PERSON_FIELDS, 'credits_charged', 'company'],
  properties: { ...PERSON_PROPERTIES, credits_charged: { type: 'integer', minimum: 0, description: 'What this cost, when it was first answered.', examples: [1] }, company: COMPANY },
};
