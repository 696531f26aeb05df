/** The operations of the webhook API. */
import type { Operation, Parameters } from '../http/operation.ts';
import { ref, type Body, type SchemaField } from '../http/body-schema.ts';
import { EVENT_TYPES } from './announcement.ts';
import type { FilterName } from './filter.ts';
import { MAX_URL } from './url.ts';
import { CURSOR, limitParameter } from '../http/paging.ts';

export const MAX_WEBHOOKS = 20;
export const DELIVERY_LIMIT = limitParameter(25, 100);

const PATH = '/v1/webhooks';
const NO_CONTENT = { 204: { description: 'The webhook is deleted.' } } as const;

const URL_SHAPE = { type: 'string', maxLength: MAX_URL } as const;

/** The declaration of `webhook_url` in requests. */
export const WEBHOOK_URL = {
  ...URL_SHAPE,
  description:
    'An HTTPS address that receives the event when the work is done. It is signed with the secret of your webhook with this address; ' +
    'without such a webhook, with a secret derived from the API key.',
  examples: ['https://hooks.acme.example/millrace'],
} as const satisfies SchemaField;

const URL_FIELD = {
  ...URL_SHAPE,
  description: 'The HTTPS address of the receiver: public, without user name and password.',
  examples: ['https://hooks.acme.example/millrace'],
} as const;

const FILTER_FIELDS: Readonly<Record<FilterName, { readonly description: string; readonly examples: readonly (readonly string[])[] }>> = {
  domain: {
    description: 'Companies with these domains, main or alias. For `job.change`: the former or the new employer.',
    examples: [['tundra-logistics.example']],
  },
  country: {
    description: 'Companies with their head office in these countries (ISO 3166-1 alpha-2). For `job.change`: people who live there.',
    examples: [['ES']],
  },
  industry: { description: 'Companies of these industries. Only for signals.', examples: [['Retail']] },
  email: { description: 'People with these addresses. Only for `job.change`.', examples: [['jerome.noel@tundra-logistics.example']] },
  linkedin_url: {
    description: 'People with these profiles. Only for `job.change`.',
    examples: [['https://profiles.example/in/seoyeon-jung-1000']],
  },
  id: { description: 'People with these ids. Only for `job.change`.', examples: [['pe_000001']] },
};

const FILTER = {
  type: 'object',
  description:
    'Selects among the events; `{}` selects all. Every event type must support every field. An event must match one value of each ' +
    'field; `email`, `linkedin_url` and `id` count as one field.',
  examples: [{ domain: ['tundra-logistics.example'], country: ['ES'] }],
  additionalProperties: false,
  properties: Object.fromEntries(
    Object.entries(FILTER_FIELDS).map(([name, field]) => [
      name,
      { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 1_000, ...field },
    ]),
  ) as Readonly<Record<FilterName, SchemaField & { type: 'array'; items: { type: 'string' } }>>,
} as const;

const EVENTS = {
  type: 'array',
  items: { type: 'string', enum: EVENT_TYPES },
  minItems: 1,
  maxItems: EVENT_TYPES.length,
  description: 'The event types to receive.',
  examples: [['funding.round', 'hiring.change']],
} as const;

export const WEBHOOK_BODY = {
  forms: [
    ['event', 'url'],
    ['events', 'url'],
  ],
  properties: {
    event: { type: 'string', enum: EVENT_TYPES, description: 'One event type to receive, instead of `events`.', examples: ['job.change'] },
    events: EVENTS,
    url: URL_FIELD,
    filter: FILTER,
  },
} as const satisfies Body;

export const WEBHOOK_CHANGE_BODY = {
  properties: {
    url: URL_FIELD,
    events: EVENTS,
    filter: FILTER,
    enabled: { type: 'boolean', description: 'A disabled webhook receives no events, and does not receive them later.', examples: [false] },
  },
} as const satisfies Body;

const inPath = {
  id: { description: 'The `id` of the webhook.', schema: { type: 'string' }, example: 'wh_0123456789abcdef' },
} as const satisfies Parameters;
const common = { tag: 'Webhooks', inPath, problems: ['not_found'] } as const;
const answers = { 200: { description: 'The webhook.', content: { 'application/json': ref('Webhook') } } } as const;

export const CREATE_WEBHOOK: Operation = {
  id: 'createWebhook',
  method: 'POST',
  path: PATH,
  tag: 'Webhooks',
  summary: 'Subscribe to events',
  description:
    `Deliveries are signed by the rules of Standard Webhooks. \`secret\` is shown only in this answer. Earlier events are not sent. ` +
    `A key may have ${MAX_WEBHOOKS} webhooks. Webhooks are free.`,
  body: { name: 'WebhookRequest', declared: WEBHOOK_BODY },
  answers: {
    201: { description: 'The webhook, with its secret.', content: { 'application/json': ref('WebhookWithSecret') }, headers: ['Location'] },
  },
  problems: [],
  examples: [
    { name: 'event', summary: 'One event', body: { event: 'funding.round', url: 'https://hooks.acme.example/millrace' }, varies: true },
  ],
};

export const LIST_WEBHOOKS: Operation = {
  id: 'listWebhooks',
  method: 'GET',
  path: PATH,
  tag: 'Webhooks',
  summary: 'List webhooks',
  description: 'All webhooks of this key, newest first.',
  answers: { 200: { description: 'The webhooks.', content: { 'application/json': ref('WebhookList') } } },
  problems: [],
};

export const GET_WEBHOOK: Operation = {
  ...common,
  id: 'getWebhook',
  method: 'GET',
  path: `${PATH}/{id}`,
  summary: 'Fetch a webhook',
  description: 'The webhook, without its secret.',
  answers,
};

export const CHANGE_WEBHOOK: Operation = {
  ...common,
  id: 'changeWebhook',
  method: 'PATCH',
  path: `${PATH}/{id}`,
  summary: 'Change a webhook',
  description:
    'Fields that are not given stay. Earlier events follow the old settings, and pending deliveries stay. Disabling a webhook gives up ' +
    'its pending deliveries; enabling it again sends only later events.',
  body: { name: 'WebhookChange', declared: WEBHOOK_CHANGE_BODY },
  answers,
  examples: [{ name: 'events', summary: 'Other events', body: { events: ['funding.round', 'hiring.change'] }, varies: true }],
};

export const DELETE_WEBHOOK: Operation = {
  ...common,
  id: 'deleteWebhook',
  method: 'DELETE',
  path: `${PATH}/{id}`,
  summary: 'Delete a webhook',
  description: 'Deletes the webhook and its deliveries.',
  answers: NO_CONTENT,
};

export const ROTATE_WEBHOOK_SECRET: Operation = {
  ...common,
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: `${PATH}/{id}/rotate-secret`,
  summary: 'Replace the secret',
  description: 'For 24 hours deliveries carry signatures by the former and the new secret. The new secret is shown only in this answer.',
  answers: { 200: { description: 'The webhook, with its new secret.', content: { 'application/json': ref('WebhookWithSecret') } } },
};

export const TEST_WEBHOOK: Operation = {
  ...common,
  id: 'testWebhook',
  method: 'POST',
  path: `${PATH}/{id}/test`,
  summary: 'Send a test event',
  description:
    'Sends an event of its first type at once, with `{"test": true}` in `data`, and answers with the outcome within about 15 seconds. ' +
    'It is not repeated.',
  answers: { 200: { description: 'The outcome of the test.', content: { 'application/json': ref('WebhookTest') } } },
};

export const LIST_DELIVERIES: Operation = {
  ...common,
  id: 'listWebhookDeliveries',
  method: 'GET',
  path: `${PATH}/{id}/deliveries`,
  summary: 'List deliveries',
  description: 'Past and pending deliveries, newest first. They are stored for 30 days, at most 10,000.',
  query: { cursor: CURSOR, limit: DELIVERY_LIMIT },
  answers: {
    200: { description: 'A page of deliveries.', content: { 'application/json': ref('WebhookDeliveryPage') }, headers: ['Link'] },
  },
};

export const REDELIVER: Operation = {
  ...common,
  id: 'redeliverWebhook',
  method: 'POST',
  path: `${PATH}/{id}/deliveries/{delivery}/redeliver`,
  summary: 'Deliver again',
  description: 'Sends a delivery again at once, in any state, with the same `webhook-id` and with all repeats.',
  inPath: {
    ...inPath,
    delivery: { description: 'The `id` of the delivery.', schema: { type: 'string' }, example: 'msg_0123456789abcdefghijkl' },
  },
  answers: { 202: { description: 'The delivery, pending again.', content: { 'application/json': ref('WebhookDelivery') } } },
  problems: ['not_found', 'job_state_conflict'],
};

export const WEBHOOK_OPERATIONS: readonly Operation[] = [
  CREATE_WEBHOOK,
  LIST_WEBHOOKS,
  GET_WEBHOOK,
  CHANGE_WEBHOOK,
  DELETE_WEBHOOK,
  ROTATE_WEBHOOK_SECRET,
  TEST_WEBHOOK,
  LIST_DELIVERIES,
  REDELIVER,
];
