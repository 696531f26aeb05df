/** Webhooks, declared. */
import type { Operation, Parameters } from '../openapi/operation.ts';
import { ref, type Body, type Field } from '../openapi/schema.ts';
import { EVENT_TYPES } from '../webhooks/announcement.ts';
import type { FilterName } from '../webhooks/filter.ts';
import { MAX_URL } from '../webhooks/url.ts';
import { CURSOR, limitParameter } from './paging.ts';

export const MAX_WEBHOOKS = 20;
export const DELIVERY_LIMIT = limitParameter(25, 100);

const PATH = '/v1/webhooks';
const NO_CONTENT = { 204: { description: 'It is done.' } } as const;

const URL_SHAPE = { type: 'string', maxLength: MAX_URL } as const;

/** What a `webhook_url` of a request is. */
export const WEBHOOK_URL = {
  ...URL_SHAPE,
  description: 'An HTTPS address that is told when it is done, signed with the secret of your webhook with this address, else with one that follows from the API key.',
  examples: ['https://hooks.acme.example/millrace'],
} as const satisfies Field;

const URL_FIELD = { ...URL_SHAPE, description: 'HTTPS address of the receiver, on the Internet, without user name and password.', examples: ['https://hooks.acme.example/millrace'] } as const;

const SAYS: Readonly<Record<FilterName, { readonly description: string; readonly examples: readonly (readonly string[])[] }>> = {
  domain: { description: 'Companies with these domains, their own or other ones; of a change of jobs the former employer or the new one.', examples: [['tundra-logistics.example']] },
  country: { description: 'Head offices there, ISO 3166-1 alpha-2; of a change of jobs where the person lives.', examples: [['ES']] },
  industry: { description: 'Companies of these industries. For signals alone.', examples: [['Retail']] },
  email: { description: 'People with these addresses. For `job.change` alone.', examples: [['jerome.noel@tundra-logistics.example']] },
  linkedin_url: { description: 'People with these profiles. For `job.change` alone.', examples: [['https://profiles.example/in/seoyeon-jung-1000']] },
  id: { description: 'People with these ids. For `job.change` alone.', examples: [['pe_000001']] },
};

const FILTER = {
  type: 'object',
  description: 'Which of the events; all events must know all of its fields. One value of each field must be met; people are named by any of `email`, `linkedin_url` and `id`. `{}`: all.',
  examples: [{ domain: ['tundra-logistics.example'], country: ['ES'] }],
  additionalProperties: false,
  properties: Object.fromEntries(Object.entries(SAYS).map(([name, says]) => [name, { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 1_000, ...says }])) as Readonly<Record<FilterName, Field & { type: 'array'; items: { type: 'string' } }>>,
} as const;

const EVENTS = { type: 'array', items: { type: 'string', enum: EVENT_TYPES }, minItems: 1, maxItems: EVENT_TYPES.length, description: 'Of what it is told.', examples: [['funding.round', 'hiring.change']] } as const;

export const WEBHOOK_BODY = {
  forms: [['event', 'url'], ['events', 'url']],
  properties: { event: { type: 'string', enum: EVENT_TYPES, description: 'Of what it is told, where that is one kind.', examples: ['job.change'] }, events: EVENTS, url: URL_FIELD, filter: FILTER },
} as const satisfies Body;

export const WEBHOOK_CHANGE_BODY = {
  properties: { url: URL_FIELD, events: EVENTS, filter: FILTER, enabled: { type: 'boolean', description: 'One that is not enabled is told nothing, later neither.', examples: [false] } },
} as const satisfies Body;

const inPath = { id: { description: 'Of the webhook.', schema: { type: 'string' }, example: 'wh_0123456789abcdef' } } as const satisfies Parameters;
const common = { tag: 'Webhooks', inPath, problems: ['not_found'] } as const;
const answers = { 200: { description: 'The webhook.', content: { 'application/json': ref('Webhook') } } } as const;

export const CREATE_WEBHOOK: Operation = {
  id: 'createWebhook',
  method: 'POST',
  path: PATH,
  tag: 'Webhooks',
  summary: 'Subscribe to events',
  description: `Deliveries are signed as Standard Webhooks has it; \`secret\` is shown this once. What had happened before is not told. A key may have ${MAX_WEBHOOKS}. Webhooks are free.`,
  body: { name: 'WebhookRequest', declared: WEBHOOK_BODY },
  answers: { 201: { description: 'The webhook, with its secret.', content: { 'application/json': ref('WebhookWithSecret') }, headers: ['Location'] } },
  problems: [],
};

export const LIST_WEBHOOKS: Operation = {
  id: 'listWebhooks',
  method: 'GET',
  path: PATH,
  tag: 'Webhooks',
  summary: 'List webhooks',
  description: 'All of this key, newest first.',
  answers: { 200: { description: 'The webhooks.', content: { 'application/json': ref('WebhookList') } } },
  problems: [],
};

export const GET_WEBHOOK: Operation = { ...common, id: 'getWebhook', method: 'GET', path: `${PATH}/{id}`, summary: 'Fetch a webhook', description: 'Without its secret.', answers };

export const CHANGE_WEBHOOK: Operation = {
  ...common,
  id: 'changeWebhook',
  method: 'PATCH',
  path: `${PATH}/{id}`,
  summary: 'Change a webhook',
  description: 'What is not given stays. What was noticed before goes by what held then, and what waits to be delivered stays. A webhook that is disabled gives up what it has not delivered; one that is enabled again is told what happens from then on.',
  body: { name: 'WebhookChange', declared: WEBHOOK_CHANGE_BODY },
  answers,
};

export const DELETE_WEBHOOK: Operation = { ...common, id: 'deleteWebhook', method: 'DELETE', path: `${PATH}/{id}`, summary: 'Delete a webhook', description: 'With its deliveries.', answers: NO_CONTENT };

export const ROTATE_WEBHOOK_SECRET: Operation = {
  ...common,
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: `${PATH}/{id}/rotate-secret`,
  summary: 'Replace the secret',
  description: 'For 24 hours deliveries are signed by both, the former secret and the new one, which is shown this once.',
  answers: { 200: { description: 'The webhook, with its new secret.', content: { 'application/json': ref('WebhookWithSecret') } } },
};

export const TEST_WEBHOOK: Operation = {
  ...common,
  id: 'testWebhook',
  method: 'POST',
  path: `${PATH}/{id}/test`,
  summary: 'Send a test event',
  description: 'Sends one of its kinds of events at once, with `{"test": true}` in `data`, and answers how that went, after 15 seconds at the latest. It is not tried again.',
  answers: { 200: { description: 'How it went.', content: { 'application/json': ref('WebhookTest') } } },
};

export const LIST_DELIVERIES: Operation = {
  ...common,
  id: 'listWebhookDeliveries',
  method: 'GET',
  path: `${PATH}/{id}/deliveries`,
  summary: 'List deliveries',
  description: 'What was sent, newest first, and what will be. Kept for 30 days, 10,000 at most.',
  query: { cursor: CURSOR, limit: DELIVERY_LIMIT },
  answers: { 200: { description: 'A page of deliveries.', content: { 'application/json': ref('WebhookDeliveryPage') }, headers: ['Link'] } },
};

export const REDELIVER: Operation = {
  ...common,
  id: 'redeliverWebhook',
  method: 'POST',
  path: `${PATH}/{id}/deliveries/{delivery}/redeliver`,
  summary: 'Deliver again',
  description: 'Begins anew with a delivery, whatever became of it: at once, with the same `webhook-id`, and with all further attempts.',
  inPath: { ...inPath, delivery: { description: 'Of the delivery.', schema: { type: 'string' }, example: 'msg_0123456789abcdefghijkl' } },
  answers: { 202: { description: 'It will be.', content: { 'application/json': ref('WebhookDelivery') } } },
  problems: ['not_found', 'job_state_conflict'],
};

export const WEBHOOK_OPERATIONS: readonly Operation[] = [CREATE_WEBHOOK, LIST_WEBHOOKS, GET_WEBHOOK, CHANGE_WEBHOOK, DELETE_WEBHOOK, ROTATE_WEBHOOK_SECRET, TEST_WEBHOOK, LIST_DELIVERIES, REDELIVER];
