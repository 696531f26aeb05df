/** The signal record: the one table of its fields, and of `data` by type. Pure. */
import type { SignalType } from './signal-types.ts';
import { PLACE, USD, type Field, type Members, type RecordFields } from './field.ts';

/** The origin or destination of a move: a company or a role, as text or as an object. */
const MOVE_END: Field = { type: 'text_or_object', fields: { name: 'string', domain: 'string', title: 'string' } };

export const SIGNAL_DATA: Readonly<Record<SignalType, Members>> = {
  funding: {
    round_type: 'string',
    amount: 'number',
    currency: 'string',
    amount_usd: USD,
    investors: 'strings',
    lead_investors: 'strings',
    total_raised_usd: USD,
  },
  hiring: { openings: 'number', delta_30d: 'number', departments: 'strings', titles: 'strings', locations: 'strings' },
  executive_move: { move: 'string', from: MOVE_END, to: MOVE_END, effective_on: 'partial_date' },
  technology_change: { change: 'string', technology: 'string', category: 'string' },
};

const typesOfData = Object.entries(SIGNAL_DATA)
  .map(
    ([type, members]) =>
      `${type}: ${Object.keys(members)
        .map((name) => `\`${name}\``)
        .join(', ')}.`,
  )
  .join(' ');

/** In the order of answers. `company` is the company's current data; a company's own record leaves it out. */
export const SIGNAL = {
  id: { type: 'string', description: 'Stable for as long as the signal is known.', example: 'sg_00009' },
  type: { type: 'word', isComputed: true, description: 'What kind of signal it is.' },
  subtype: { type: 'string', description: 'A finer kind.' },
  occurred_at: { type: 'time', description: 'When it happened.', example: '2026-05-17T00:00:00Z' },
  detected_at: { type: 'time', description: 'When it became known.', example: '2026-05-17T06:00:00Z' },
  confidence: { type: 'number', description: 'How sure it is, 0 to 1.', example: 0.7 },
  source_url: { type: 'string', description: 'Where it was read.' },
  company: {
    type: 'object',
    isComputed: true,
    description: 'Where it happened.',
    fields: {
      id: 'string',
      name: 'string',
      domain: 'string',
      employees: 'integer',
      industry: 'string',
      hq: { type: 'object', fields: PLACE },
    },
  },
  person: {
    type: 'object',
    description: 'Whom it is about, without address and number: those are revealed.',
    fields: { id: 'string', name: 'string', title: 'string', linkedin_url: 'string' },
  },
  data: {
    type: 'object',
    fields: Object.assign({}, ...Object.values(SIGNAL_DATA)) as Members,
    description: `By type, each with all of its own. ${typesOfData} A \`move\` is joined, left or promoted, a \`change\` added or removed.`,
  },
} as const satisfies RecordFields;

export type SignalField = keyof typeof SIGNAL;

export const SIGNAL_FIELDS = Object.keys(SIGNAL) as readonly SignalField[];

const { id, subtype, occurred_at, detected_at, confidence, source_url, person } = SIGNAL;

/** The fields that an import accepts of each signal type, besides type and company. */
export const IMPORTED_SIGNAL: Readonly<Record<SignalType, Members>> = {
  funding: withData('funding'),
  hiring: withData('hiring'),
  executive_move: withData('executive_move'),
  technology_change: withData('technology_change'),
};

function withData(type: SignalType): Members {
  return { id, subtype, occurred_at, detected_at, confidence, source_url, person, data: { type: 'object', fields: SIGNAL_DATA[type] } };
}
