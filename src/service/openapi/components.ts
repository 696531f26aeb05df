/** The schemas of the document that have names. */
import { GRAPHQL_RESPONSE } from './graphql-operation.ts';
import { OPERATIONS } from './operations.ts';
import { BATCH_SCHEMA, BATCH_LINE, BATCH_PAGE, BATCH_PART } from '../batches/batch-schema.ts';
import { COMPANY_RECORD } from '../records/schemas/company-schema.ts';
import { CONTACT, CONTACT_PAGE, SIGNAL_PAGE } from '../records/schemas/contact-schema.ts';
import { JOB_CHANGE_SCHEMA, TEST_EVENT } from '../webhooks/event-schema.ts';
import { PERSON_RECORD, REVEALED } from '../records/schemas/person-schema.ts';
import { SIGNAL_RECORD } from '../records/schemas/signal-schema.ts';
import { VERIFICATION, VERIFICATION_BATCH, VERIFICATION_DONE, VERIFICATION_PROGRESS } from '../records/schemas/verification-schema.ts';
import {
  WEBHOOK,
  WEBHOOK_DELIVERY,
  WEBHOOK_DELIVERY_PAGE,
  WEBHOOK_LIST,
  WEBHOOK_TEST,
  WEBHOOK_WITH_SECRET,
} from '../webhooks/webhook-schema.ts';
import { REASONS } from '../monitoring/store-health.ts';
import { PROBLEM } from './problems.ts';
import { bodySchema, nullable, ref, type Schema } from '../http/body-schema.ts';

const BULK_ENRICHMENT: Schema = {
  type: 'object',
  required: ['data'],
  properties: {
    data: {
      type: 'array',
      items: {
        type: 'object',
        required: ['status', 'record', 'error', 'metadata'],
        properties: {
          status: { type: 'integer', description: 'What `POST /v1/enrich` would have answered.', examples: [200] },
          record: nullable(ref('Person')),
          error: nullable(ref('Problem')),
          metadata: { description: 'As it was sent.' },
        },
      },
    },
  },
};

const HEALTH: Schema = {
  type: 'object',
  required: ['status'],
  properties: {
    status: {
      type: 'string',
      enum: ['ok', 'degraded', 'unavailable'],
      description: 'Of a service that is `degraded` some records cannot be read; it answers everything else.',
    },
    reason: { type: 'string', enum: [...REASONS], description: 'Why it is not `ok`.' },
    detail: { type: 'string', description: 'What happened, and what to do.' },
  },
};

/** By name. */
export function schemaComponents(): Readonly<Record<string, Schema>> {
  const bodies = OPERATIONS.flatMap(({ body }) =>
    body === undefined ? [] : [[body.name, 'declared' in body ? bodySchema(body.declared) : body.schema] as const],
  );
  return {
    ...Object.fromEntries(bodies),
    Person: PERSON_RECORD,
    BulkEnrichment: BULK_ENRICHMENT,
    Contact: CONTACT,
    ContactPage: CONTACT_PAGE,
    RevealedContact: REVEALED,
    Company: COMPANY_RECORD,
    Signal: SIGNAL_RECORD,
    SignalPage: SIGNAL_PAGE,
    Verification: VERIFICATION,
    VerificationBatch: VERIFICATION_BATCH,
    VerificationProgress: VERIFICATION_PROGRESS,
    VerificationDone: VERIFICATION_DONE,
    JobChange: JOB_CHANGE_SCHEMA,
    GraphQLResponse: GRAPHQL_RESPONSE,
    Batch: BATCH_SCHEMA,
    BatchPage: BATCH_PAGE,
    BatchPart: BATCH_PART,
    BatchLine: BATCH_LINE,
    Webhook: WEBHOOK,
    WebhookWithSecret: WEBHOOK_WITH_SECRET,
    WebhookList: WEBHOOK_LIST,
    WebhookDelivery: WEBHOOK_DELIVERY,
    WebhookDeliveryPage: WEBHOOK_DELIVERY_PAGE,
    WebhookTest: WEBHOOK_TEST,
    WebhookTestEvent: TEST_EVENT,
    Health: HEALTH,
    Problem: PROBLEM,
  };
}
