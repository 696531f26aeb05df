/** The company record as it is answered. */
import { nullable, type Schema } from '../../openapi/schema.ts';
import { COMPANY, COMPANY_FIELDS, type CompanyField } from '../../records/company.ts';
import { fieldSchemas } from './fields.ts';
import { SIGNAL_OF_COMPANY } from './signal.ts';

const SIGNALS: Schema = { ...nullable({ type: 'array', items: SIGNAL_OF_COMPANY }), description: COMPANY.signals.says };

export const COMPANY_PROPERTIES: Readonly<Record<CompanyField, Schema>> = { ...fieldSchemas(COMPANY), signals: SIGNALS };

export const COMPANY_RECORD: Schema = { type: 'object', description: 'Everything that is known of a company; `null` where nothing is. New fields may come.', required: COMPANY_FIELDS, properties: COMPANY_PROPERTIES };
