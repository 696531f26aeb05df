/** The signal record as it is answered. */
import type { Schema } from '../../openapi/schema.ts';
import { SIGNAL, type SignalField } from '../../records/signal.ts';
import { SIGNAL_TYPES } from '../../signal-types.ts';
import { fieldSchemas, objectSchema, whole } from './fields.ts';

const PROPERTIES: Readonly<Record<SignalField, Schema>> = {
  ...fieldSchemas(SIGNAL),
  id: { type: 'string', description: SIGNAL.id.says, examples: [SIGNAL.id.example] },
  type: { type: 'string', enum: SIGNAL_TYPES, description: SIGNAL.type.says },
  company: { ...objectSchema(SIGNAL.company.fields), description: SIGNAL.company.says },
  // Each type has fields of its own.
  data: { ...fieldSchemas({ data: SIGNAL.data }).data, required: [] },
};

const { company: _company, ...ofCompany } = PROPERTIES;

/** Within a company's record, which says already whose it is. */
export const SIGNAL_OF_COMPANY: Schema = whole(ofCompany, 'As at `GET /v1/signals`, without `company`.');

export const SIGNAL_RECORD: Schema = whole(PROPERTIES, 'Something that happened at a company. New fields may come.');
