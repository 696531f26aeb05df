/** The events of webhooks in the OpenAPI document: the schema of `data` of each event type. */
import { nullable, ref, type Schema } from '../http/body-schema.ts';
import { COMPANY_OF_CHANGE, SIGNAL_EVENTS, type EventType } from './announcement.ts';
import { BOOLEAN, INTEGER, STRING, TIME, whole } from '../records/schemas/record-schema.ts';

interface EventDeclaration {
  readonly summary: string;
  readonly description: string;
  readonly data: Schema;
}

const SAME_KEY = 'Reports only requests of the same key.';
const signal = (kind: string, type: string): EventDeclaration => ({
  summary: `A new signal of ${kind}`,
  description: `The signal, in the form of \`GET /v1/signals?type=${type}\`.`,
  data: ref('Signal'),
});
const batch = (end: string): EventDeclaration => ({
  summary: `A batch job ${end}`,
  description: `The job, in the form of \`GET /v1/batches/{id}\`. ${SAME_KEY}`,
  data: ref('Batch'),
});

/** Event declarations by type. */
export const EVENTS: Readonly<Record<EventType, EventDeclaration>> = {
  'job.change': {
    summary: 'A person has another employer or title',
    description: 'A newer record reports it. Addresses and numbers are left out: reveal them.',
    data: ref('JobChange'),
  },
  'funding.round': signal('funding', SIGNAL_EVENTS['funding.round']),
  'hiring.change': signal('hiring', SIGNAL_EVENTS['hiring.change']),
  'executive.move': signal('executive moves', SIGNAL_EVENTS['executive.move']),
  'technology.change': signal('technology changes', SIGNAL_EVENTS['technology.change']),
  'enrichment.completed': {
    summary: 'A person or a company was enriched',
    description: `The record of the answer. Misses and replays send no event. ${SAME_KEY}`,
    data: ref('Person'),
  },
  'verification.completed': { summary: 'An asynchronous verification is done', description: SAME_KEY, data: ref('VerificationDone') },
  'batch.completed': batch('is completed'),
  'batch.failed': batch('has failed'),
  'batch.cancelled': batch('was cancelled'),
};

const JOB = whole({ title: nullable(STRING), company_name: nullable(STRING), company_domain: nullable(STRING) });
const COMPANY = whole(Object.fromEntries(COMPANY_OF_CHANGE.map((field) => [field, nullable(field === 'employees' ? INTEGER : STRING)])));

export const JOB_CHANGE_SCHEMA: Schema = whole(
  {
    person: { type: 'string', description: 'The `id` of the person.', examples: ['pe_000001'] },
    name: nullable(STRING),
    title: { ...nullable(STRING), description: 'The current title.' },
    linkedin_url: nullable(STRING),
    company: { ...nullable(COMPANY), description: 'The current employer.' },
    from: { ...JOB, description: 'Employer and title before the change.' },
    to: { ...JOB, description: 'Employer and title after the change.' },
    detected_at: TIME,
  },
  'A person who has another employer or title.',
);

export const TEST_EVENT: Schema = whole(
  { test: { ...BOOLEAN, const: true }, webhook: { type: 'string', description: 'The `id` of the webhook.' } },
  '`data` of a test event, instead of the data of its type.',
);
