/** Webhooks and deliveries as they are answered. */
import { nullable, ref, type Schema } from '../../openapi/schema.ts';
import { EVENT_TYPES } from '../../webhooks/announcement.ts';
import { FILTER_VALUES } from '../../webhooks/filter.ts';
import { BOOLEAN, INTEGER, STRING, TIME } from './fields.ts';

const TEXTS: Schema = { type: 'array', items: STRING };
const EVENTS: Schema = { type: 'array', items: { type: 'string', enum: EVENT_TYPES }, description: 'What it is told of.' };

const PROPERTIES: Readonly<Record<string, Schema>> = {
  id: { type: 'string', examples: ['wh_0123456789abcdef'] },
  url: { type: 'string', description: 'Where events are sent.', examples: ['https://hooks.acme.example/millrace'] },
  events: EVENTS,
  filter: { type: 'object', properties: Object.fromEntries(Object.keys(FILTER_VALUES).map((name) => [name, TEXTS])), additionalProperties: false, description: 'Which of these events; `{}`: all. An empty list is left where all whom it named were erased: nobody is meant by it.' },
  enabled: { type: 'boolean', description: 'Whether it is told anything.' },
  disabled_reason: { ...nullable({ type: 'string', enum: ['by_request', 'gone', 'failing', 'nobody_left'] }), description: '`gone`: its receiver answered 410. `failing`: nothing could be delivered to it for five days. `nobody_left`: all whom its filter named were erased.' },
  disabled_at: { ...nullable(TIME), description: 'Since when it is not enabled.' },
  failing_since: { ...nullable(TIME), description: 'Since when every attempt to deliver has failed; `null`: the last one did not.' },
  dropped: { type: 'integer', minimum: 0, description: 'Events that were thrown away undelivered, the oldest first, because there were too many.' },
  created_at: TIME,
  updated_at: TIME,
};

export const WEBHOOK: Schema = { type: 'object', description: 'A subscription to events.', required: Object.keys(PROPERTIES), properties: PROPERTIES };

export const WEBHOOK_WITH_SECRET: Schema = {
  type: 'object',
  description: 'With the secret by which its deliveries are signed, which is not shown again.',
  required: [...Object.keys(PROPERTIES), 'secret'],
  properties: { ...PROPERTIES, secret: { ...nullable({ type: 'string', pattern: '^whsec_[A-Za-z0-9+/=]{32,88}$' }), description: '`whsec_`, and the key of the HMAC in Base64. `null` in the replay of an answer whose secret signs no more.' } },
};

export const WEBHOOK_LIST: Schema = { type: 'object', required: ['data'], properties: { data: { type: 'array', items: ref('Webhook') } } };

const STATUS: Schema = { ...nullable(INTEGER), description: 'That the receiver answered; `null`: it did not.' };
const ERROR: Schema = {
  ...nullable(STRING),
  description: 'Why there was no answer: `refused_address` (none on the Internet), `no_such_host`, `connection_failed`, `tls_failed`, `timed_out`, of a test also `stopped` (the service was, meanwhile); or why nothing more is tried: `webhook_disabled`, `key_revoked`, `unreadable` (it is damaged in the store).',
};

const DELIVERY_PROPERTIES: Readonly<Record<string, Schema>> = {
  id: { type: 'string', description: 'As in the header `webhook-id` of each attempt.', examples: ['msg_0123456789abcdefghijkl'] },
  type: { type: 'string', enum: EVENT_TYPES },
  state: { type: 'string', enum: ['pending', 'delivered', 'failed'], description: '`pending`: it will be tried, or is being so.' },
  attempts: { type: 'integer', minimum: 0 },
  created_at: TIME,
  next_attempt_at: { ...nullable(TIME), description: '`null`: nothing more is tried.' },
  last_attempt_at: nullable(TIME),
  last_status: STATUS,
  last_error: ERROR,
};

export const WEBHOOK_DELIVERY: Schema = { type: 'object', description: 'An event on its way to one webhook.', required: Object.keys(DELIVERY_PROPERTIES), properties: DELIVERY_PROPERTIES };

export const WEBHOOK_DELIVERY_PAGE: Schema = {
  type: 'object',
  required: ['data', 'meta'],
  properties: {
    data: { type: 'array', items: ref('WebhookDelivery') },
    meta: { type: 'object', required: ['limit', 'next_cursor'], properties: { limit: { type: 'integer', minimum: 1 }, next_cursor: { ...nullable(STRING), description: 'Pass it as `cursor` for the next page; `null`: this is the last.' } } },
  },
};

export const WEBHOOK_TEST: Schema = {
  type: 'object',
  required: ['delivered', 'type', 'status', 'error'],
  properties: { delivered: { ...BOOLEAN, description: 'Whether the receiver answered 2xx.' }, type: { type: 'string', enum: EVENT_TYPES }, status: STATUS, error: ERROR },
};
