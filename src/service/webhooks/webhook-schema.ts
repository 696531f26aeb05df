/** The schemas of webhooks and deliveries in answers. */
import { nullable, ref, type Schema } from '../http/body-schema.ts';
import { EVENT_TYPES } from './announcement.ts';
import { FILTER_VALUES } from './filter.ts';
import { BOOLEAN, INTEGER, STRING, TIME } from '../records/schemas/record-schema.ts';

const TEXTS: Schema = { type: 'array', items: STRING };
const EVENTS: Schema = {
  type: 'array',
  items: { type: 'string', enum: EVENT_TYPES },
  description: 'The event types that the webhook receives.',
};

const PROPERTIES: Readonly<Record<string, Schema>> = {
  id: { type: 'string', examples: ['wh_0123456789abcdef'] },
  url: { type: 'string', description: 'Where events are sent.', examples: ['https://hooks.acme.example/millrace'] },
  events: EVENTS,
  filter: {
    type: 'object',
    properties: Object.fromEntries(Object.keys(FILTER_VALUES).map((name) => [name, TEXTS])),
    additionalProperties: false,
    description: 'Selects among these events; `{}` selects all. An empty list matches nobody: all people in it were erased.',
  },
  enabled: { type: 'boolean', description: 'Whether the webhook receives events.' },
  disabled_reason: {
    ...nullable({ type: 'string', enum: ['by_request', 'gone', 'failing', 'nobody_left'] }),
    description:
      '`by_request`: a request disabled it. `gone`: its receiver answered 410. `failing`: every attempt has failed for five days. ' +
      '`nobody_left`: all people in its filter were erased.',
  },
  disabled_at: { ...nullable(TIME), description: 'When the webhook was disabled.' },
  failing_since: { ...nullable(TIME), description: 'Since when every attempt has failed; `null` when the last one succeeded.' },
  dropped: {
    type: 'integer',
    minimum: 0,
    description: 'The number of pending deliveries that were dropped, the oldest first, because there were too many.',
  },
  created_at: TIME,
  updated_at: TIME,
};

export const WEBHOOK: Schema = {
  type: 'object',
  description: 'A subscription to events.',
  required: Object.keys(PROPERTIES),
  properties: PROPERTIES,
};

export const WEBHOOK_WITH_SECRET: Schema = {
  type: 'object',
  description: 'A webhook with the secret that signs its deliveries. The secret is not shown again.',
  required: [...Object.keys(PROPERTIES), 'secret'],
  properties: {
    ...PROPERTIES,
    secret: {
      ...nullable({ type: 'string', pattern: '^whsec_[A-Za-z0-9+/=]{32,88}$' }),
      description: '`whsec_` and the HMAC key in Base64. `null` in the replay of an answer whose secret is no longer valid.',
    },
  },
};

export const WEBHOOK_LIST: Schema = { type: 'object', required: ['data'], properties: { data: { type: 'array', items: ref('Webhook') } } };

const STATUS: Schema = { ...nullable(INTEGER), description: 'The status of the answer; `null` when there was no answer.' };
const ERROR: Schema = {
  ...nullable(STRING),
  description:
    'Why there was no answer: `refused_address` (not a public address), `no_such_host`, `connection_failed`, `tls_failed`, ' +
    '`timed_out`; for a test also `stopped` (the service stopped meanwhile). Or why the delivery was given up: `webhook_disabled`, ' +
    '`key_revoked`, `unreadable` (it is damaged in the store).',
};

const DELIVERY_PROPERTIES: Readonly<Record<string, Schema>> = {
  id: { type: 'string', description: 'The `webhook-id` header of each attempt.', examples: ['msg_0123456789abcdefghijkl'] },
  type: { type: 'string', enum: EVENT_TYPES },
  state: { type: 'string', enum: ['pending', 'delivered', 'failed'], description: '`pending`: an attempt is under way or follows.' },
  attempts: { type: 'integer', minimum: 0 },
  created_at: TIME,
  next_attempt_at: { ...nullable(TIME), description: '`null` when no attempt follows.' },
  last_attempt_at: nullable(TIME),
  last_status: STATUS,
  last_error: ERROR,
};

export const WEBHOOK_DELIVERY: Schema = {
  type: 'object',
  description: 'An event on its way to one webhook.',
  required: Object.keys(DELIVERY_PROPERTIES),
  properties: DELIVERY_PROPERTIES,
};

export const WEBHOOK_DELIVERY_PAGE: Schema = {
  type: 'object',
  required: ['data', 'meta'],
  properties: {
    data: { type: 'array', items: ref('WebhookDelivery') },
    meta: {
      type: 'object',
      required: ['limit', 'next_cursor'],
      properties: {
        limit: { type: 'integer', minimum: 1 },
        next_cursor: { ...nullable(STRING), description: 'Pass it as `cursor` for the next page; `null` on the last page.' },
      },
    },
  },
};

export const WEBHOOK_TEST: Schema = {
  type: 'object',
  required: ['delivered', 'type', 'status', 'error'],
  properties: {
    delivered: { ...BOOLEAN, description: 'Whether the receiver answered 2xx.' },
    type: { type: 'string', enum: EVENT_TYPES },
    status: STATUS,
    error: ERROR,
  },
};
