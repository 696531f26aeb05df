/** The signal record: the one table of its fields, and of its `data` by type. Pure. */
import type { SignalType } from '../signal-types.ts';
import { PLACE, type Field, type Members, type RecordFields } from './field.ts';

/** Where a person came from or went to: a company or a role, as a text or as its parts. */
const MOVE_END: Field = { type: 'text_or_object', fields: { name: 'string', domain: 'string', title: 'string' } };

export const SIGNAL_DATA: Readonly<Record<SignalType, Members>> = {
  funding: {
    round_type: 'string', amount: 'number', currency: 'string', amount_usd: 'number', investors: 'strings', lead_investors: 'strings',
    total_raised_usd: 'number',
  },
  hiring: { openings: 'number', delta_30d: 'number', departments: 'strings', titles: 'strings', locations: 'strings' },
  executive_move: { move: 'string', from: MOVE_END, to: MOVE_END, effective_on: 'string' },
  technology_change: { change: 'string', technology: 'string', category: 'string' },
};

const typesOfData = Object.entries(SIGNAL_DATA)
  .map(([type, members]) => `${type}: ${Object.keys(members).map((name) => `\`${name}\``).join(', ')}.`)
  .join(' ');

/** In the order of the answers. `company` is what is known of the company now; a company's own record leaves it out. */
export const SIGNAL = {
  id: { type: 'string', says: 'Stable for as long as the signal is known.', example: 'sg_00009' },
  type: { type: 'word', isComputed: true, says: 'What kind of signal it is.' },
  subtype: { type: 'string', says: 'A finer kind.' },
  occurred_at: { type: 'time', says: 'When it happened.', example: '2026-05-17T00:00:00Z' },
  detected_at: { type: 'time', says: 'When it became known.', example: '2026-05-17T06:00:00Z' },
  confidence: { type: 'number', says: 'How sure it is, 0 to 1.', example: 0.7 },
  source_url: { type: 'string', says: 'Where it was read.' },
  company: {
    type: 'object', isComputed: true, says: 'Where it happened.',
    fields: { id: 'string', name: 'string', domain: 'string', employees: 'integer', industry: 'string', hq: { type: 'object', fields: PLACE } },
  },
  person: {
    type: 'object', says: 'Whom it is about, without address and number: those are revealed.',
    fields: { id: 'string', name: 'string', title: 'string', linkedin_url: 'string' },
  },
  data: {
    type: 'object', fields: Object.assign({}, ...Object.values(SIGNAL_DATA)) as Members,
    says: `By type, each with all of its own. ${typesOfData} A \`move\` is joined, left or promoted, a \`change\` added or removed.`,
  },
} as const satisfies RecordFields;

export type SignalField = keyof typeof SIGNAL;

export const SIGNAL_FIELDS = Object.keys(SIGNAL) as readonly SignalField[];

const { id, subtype, occurred_at, detected_at, confidence, source_url, person } = SIGNAL;

/** What an import brings of a signal of each type, beside its type and its company. */
export const IMPORTED_SIGNAL: Readonly<Record<SignalType, Members>> = {
  funding: withData('funding'), hiring: withData('hiring'), executive_move: withData('executive_move'), technology_change: withData('technology_change'),
};

function withData(type: SignalType): Members {
  return { id, subtype, occurred_at, detected_at, confidence, source_url, person, data: { type: 'object', fields: SIGNAL_DATA[type] } };
}
