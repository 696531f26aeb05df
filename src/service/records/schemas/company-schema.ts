/** The published schema of a company record. */
import { nullable, type Schema } from '../../http/body-schema.ts';
import { COMPANY, COMPANY_FIELDS, type CompanyField } from '../company-fields.ts';
import { fieldSchemas } from './record-schema.ts';
import { SIGNAL_OF_COMPANY } from './signal-schema.ts';

const SIGNALS: Schema = { ...nullable({ type: 'array', items: SIGNAL_OF_COMPANY }), description: COMPANY.signals.description };

export const COMPANY_PROPERTIES: Readonly<Record<CompanyField, Schema>> = { ...fieldSchemas(COMPANY), signals: SIGNALS };

export const COMPANY_RECORD: Schema = {
  type: 'object',
  description: 'Everything that is known of a company; `null` where nothing is. New fields may come.',
  required: COMPANY_FIELDS,
  properties: COMPANY_PROPERTIES,
};
