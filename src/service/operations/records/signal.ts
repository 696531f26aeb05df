/** The signal record as it is answered. */
import type { Schema } from '../../openapi/schema.ts';
import { SIGNAL_TYPES } from '../../signal-types.ts';
import { PARTS, SIGNAL_DATA } from '../../part-types.ts';
import { partProperties, partSchema } from './fields.ts';

const DATA: Schema = {
  type: ['object', 'null'],
  properties: partProperties(PARTS['data'] ?? {}),
  description: `By type, each with all of its own. ${Object.entries(SIGNAL_DATA).map(([type, part]) => `${type}: ${Object.keys(part).map((name) => `\`${name}\``).join(', ')}.`).join(' ')} A \`move\` is joined, left or promoted, a \`change\` added or removed.`,
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
