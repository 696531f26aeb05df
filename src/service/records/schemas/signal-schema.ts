/** The published schema of a signal. */
import type { Schema } from '../../http/body-schema.ts';
import { SIGNAL, type SignalField } from '../signal-fields.ts';
import { SIGNAL_TYPES } from '../signal-types.ts';
import { fieldSchemas, objectSchema, whole } from './record-schema.ts';

const PROPERTIES: Readonly<Record<SignalField, Schema>> = {
  ...fieldSchemas(SIGNAL),
  id: { type: 'string', description: SIGNAL.id.description, examples: [SIGNAL.id.example] },
  type: { type: 'string', enum: SIGNAL_TYPES, description: SIGNAL.type.description },
  company: { ...objectSchema(SIGNAL.company.fields), description: SIGNAL.company.description },
  // Its fields depend on the type.
  data: { ...fieldSchemas({ data: SIGNAL.data }).data, required: [] },
};

const { company: _company, ...ofCompany } = PROPERTIES;

/** A signal within its company's record, without the company. */
export const SIGNAL_OF_COMPANY: Schema = whole(ofCompany, 'As at `GET /v1/signals`, without `company`.');

export const SIGNAL_RECORD: Schema = whole(PROPERTIES, 'Something that happened at a company. New fields may come.');
