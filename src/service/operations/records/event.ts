/** What is sent to webhooks, and what is in `data` of each event. */
import { nullable, ref, type Schema } from '../../openapi/schema.ts';
import { COMPANY_OF_CHANGE, SIGNAL_EVENTS, type EventType } from '../../webhooks/announcement.ts';
import { BOOLEAN, INTEGER, STRING, TIME, whole } from './fields.ts';

export interface EventDeclaration {
  readonly summary: string;
  readonly description: string;
  readonly data: Schema;
}

const ownAlone = 'Told of what the same key asked for.';
const signal = (kind: string, type: string): EventDeclaration => ({ summary: `A new signal of ${kind}`, description: `As \`GET /v1/signals?type=${type}\` shows it.`, data: ref('Signal') });
const batch = (end: string): EventDeclaration => ({ summary: `A batch job ${end}`, description: `The job, as \`GET /v1/batches/{id}\` shows it. ${ownAlone}`, data: ref('Batch') });

/** By type. */
export const EVENTS: Readonly<Record<EventType, EventDeclaration>> = {
  'job.change': { summary: 'Somebody has another employer or title', description: 'By a newer record. Without address and number, which are revealed.', data: ref('JobChange') },
  'funding.round': signal('funding', SIGNAL_EVENTS['funding.round']),
  'hiring.change': signal('hiring', SIGNAL_EVENTS['hiring.change']),
  'executive.move': signal('executive moves', SIGNAL_EVENTS['executive.move']),
  'technology.change': signal('technology changes', SIGNAL_EVENTS['technology.change']),
  'enrichment.completed': { summary: 'A person or a company was enriched', description: `The record that was answered. Misses and replays are not told. ${ownAlone}`, data: ref('Person') },
  'verification.completed': { summary: 'An asynchronous verification is done', description: ownAlone, data: ref('VerificationDone') },
  'batch.completed': batch('is completed'),
  'batch.failed': batch('has failed'),
  'batch.cancelled': batch('was cancelled'),
};

const JOB = whole({ title: nullable(STRING), company_name: nullable(STRING), company_domain: nullable(STRING) });
const COMPANY = whole(Object.fromEntries(COMPANY_OF_CHANGE.map((field) => [field, nullable(field === 'employees' ? INTEGER : STRING)])));

export const JOB_CHANGE: Schema = whole({
  person: { type: 'string', description: 'Their `id`.', examples: ['pe_000001'] },
  name: nullable(STRING),
  title: { ...nullable(STRING), description: 'As it is known now.' },
  linkedin_url: nullable(STRING),
  company: { ...nullable(COMPANY), description: 'The employer, as it is known now.' },
  from: { ...JOB, description: 'Before.' },
  to: { ...JOB, description: 'After.' },
  detected_at: TIME,
}, 'A person who has another employer or title.');

export const TEST_EVENT: Schema = whole({ test: { ...BOOLEAN, const: true }, webhook: { type: 'string', description: 'Its `id`.' } }, 'In the place of what an event tells, when it is a test that was asked for.');
