/** The signal record as it is answered. */
import type { Schema } from '../../openapi/schema.ts';
import { SIGNAL_TYPES } from '../../signal-types.ts';
import { PARTS } from '../../part-types.ts';
import { partSchema } from './fields.ts';

const DATA: Schema = {
  ...partSchema(PARTS['data'] ?? {}),
  type: ['object', 'null'],
  description:
    'By type. funding: `round_type`, `amount`, `currency`, `amount_usd`, `investors`, `lead_investors`, `total_raised_usd`. hiring: `openings`, `delta_30d`, `departments`, `titles`, `locations`. ' +
    'executive_move: `move` (joined, left, promoted), `from`, `to`, `effective_on`. technology_change: `change` (added, removed), `technology`, `category`.',
};

const OCCURRED: Schema = { type: ['string', 'null'], description: 'When it happened: a day, or a time.', examples: ['2026-05-17'] };

const PROPERTIES: Readonly<Record<string, Schema>> = {
  id: { type: 'string', examples: ['sg_00009'] },
  type: { type: 'string', enum: SIGNAL_TYPES },
  subtype: { type: ['string', 'null'], description: 'A finer kind.' },
  occurred_at: OCCURRED,
  detected_at: { type: ['string', 'null'], description: 'When it became known.', examples: ['2026-05-17T06:00:00Z'] },
  confidence: { type: ['number', 'null'], description: 'How sure it is, 0 to 1.', examples: [0.7] },
  source_url: { type: ['string', 'null'], description: 'Where it was read.' },
  person: { ...partSchema(PARTS['person'] ?? {}), type: ['object', 'null'], description: 'Whom it is about.' },
  data: DATA,
};

const COMPANY: Schema = {
  ...partSchema({ id: 'string', name: 'string', domain: 'string', employees: 'integer', industry: 'string', hq: PARTS['hq'] ?? {} }),
  required: ['id', 'name', 'domain', 'employees', 'industry', 'hq'],
  description: 'Where it happened.',
};

/** Within a company's record, which says already whose it is. */
export const SIGNAL_OF_COMPANY: Schema = { type: 'object', description: 'As at `GET /v1/signals`, without `company`.', required: Object.keys(PROPERTIES), properties: PROPERTIES };

export const SIGNAL: Schema = { type: 'object', description: 'Something that happened at a company.', required: [...Object.keys(PROPERTIES), 'company'], properties: { ...PROPERTIES, company: COMPANY } };
