/** GET /v1/signals, declared. */
import type { Operation, Parameters } from '../http/operation.ts';
import { ref } from '../http/body-schema.ts';
import { COUNTRY, DATE_VALUE, TEXT } from '../records/filter-value.ts';
import { SIGNAL_NAMES } from '../records/signal-types.ts';
import { CURSOR, limitParameter } from '../http/paging.ts';

/** Values of one parameter. */
export const MAX_SIGNAL_VALUES = 1_000;
export const SIGNAL_LIMIT = limitParameter(25, 100);

const list = { most: MAX_SIGNAL_VALUES, divided: true } as const;

export const SIGNAL_PARAMETERS = {
  type: {
    ...list,
    description: 'Kinds of signals; `exec_moves` and `tech_changes` are other names of the last two.',
    schema: { type: 'string', enum: SIGNAL_NAMES },
    example: 'funding',
  },
  since: { description: 'From this day on.', schema: DATE_VALUE, example: '2025-06-01' },
  until: { description: 'Up to this day, which is included.', schema: DATE_VALUE, example: '2026-06-30' },
  domain: {
    ...list,
    description: 'Of companies with these domains, their own or other ones.',
    schema: TEXT,
    example: 'bluefin-travel.test',
  },
  country: { ...list, description: 'Of companies with their head office there, ISO 3166-1 alpha-2.', schema: COUNTRY, example: 'ES' },
  industry: { ...list, description: 'Of companies of these industries.', schema: TEXT, example: 'Retail' },
  cursor: CURSOR,
  limit: SIGNAL_LIMIT,
} as const satisfies Parameters;

export const SIGNALS: Operation = {
  id: 'listSignals',
  method: 'GET',
  path: '/v1/signals',
  tag: 'Signals',
  summary: 'Buying signals, as a page or as a stream',
  description:
    'By `Accept`: `application/json` is a page with the newest first; `application/x-ndjson` is every match, a line each, in the ' +
    'order in which they became known; `text/event-stream` stays open and sends what becomes ' +
    'known from now on (with `since`, first what is known), with a heartbeat every 15 ' +
    'seconds. Streams take no `cursor`. A key may have 50 of them. Signals are free.',
  query: SIGNAL_PARAMETERS,
  headers: {
    Accept: { description: 'In which form.', schema: { type: 'string' }, example: 'application/json' },
    'Last-Event-ID': {
      description: 'A stream goes on after the event of this id; empty: it begins as without it.',
      schema: { type: 'string', pattern: '^[0-9]{0,15}$' },
      example: '42',
    },
  },
  answers: {
    200: {
      description: 'A page, or a stream of signals.',
      content: {
        'application/json': ref('SignalPage'),
        'application/x-ndjson': ref('Signal'),
        'text/event-stream': {
          type: 'string',
          description: 'Events of the WHATWG standard: `id` for `Last-Event-ID`, `event` is the kind, `data` a signal.',
        },
      },
      headers: ['Link'],
    },
  },
  problems: ['insufficient_credits'],
  examples: [{ name: 'funding', summary: 'The newest rounds', query: { type: 'funding', since: '2025-06-01', limit: '2' } }],
};
