/** /v1/webhooks: the endpoints of webhooks. A key sees only its own. */
import { randomBytes } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { EndpointAnswer, Endpoint } from '../calls/endpoint.ts';
import { profileKey } from '../../verification/profile-url.ts';
import { ServiceError } from '../http/problem.ts';
import { MAX_WEBHOOKS, WEBHOOK_BODY, WEBHOOK_CHANGE_BODY } from './webhook-operations.ts';
import { BodyReader, type Lookupable } from '../http/body-reader.ts';
import { eventBody, type EventType } from './announcement.ts';
import { FILTER_VALUES, filtersOf, type FilterName, type WebhookFilter } from './filter.ts';
import { newSecret, secretText } from './secrets.ts';
import { ConcurrencySlots } from './concurrency.ts';
import { readWebhookUrl } from './url.ts';
import type { StreamPositions, Wanted, Webhook } from './webhook-rows.ts';
import { changeWithAnswer } from './answered-change.ts';
import { webhookRecord } from './webhook-records.ts';
import type { Webhooks } from './webhooks.ts';

export interface WebhookDependencies {
  readonly webhooks: Webhooks;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** How long the former secret stays valid after a rotation, milliseconds. */
const FORMER_SIGNS_MS = 24 * 3_600_000;
/** Limits of test deliveries under way. They have their own slots, so that a slow receiver can be tested, too. */
const TESTS = { total: 20, perHost: 4 } as const;
const RETRY_S = '5';
/** The size limit of a filter as JSON. Filters are parsed often. */
const MAX_FILTER_BYTES = 128 * 1024;
/** How long a change waits for the fan-out of earlier events, milliseconds: after a large import there may be millions of signals. */
const FAN_OUT_WITHIN_MS = 2_000;

export function createWebhook({ webhooks, now }: WebhookDependencies): Endpoint {
  return async (body, request, storeAnswer) => {
    const reader = new BodyReader(body, WEBHOOK_BODY);
    const url = readWebhookUrl(reader, webhooks.isDevelopment, 'url');
    if (!reader.has('url')) reader.fail('', 'required', 'give url: where events are to be sent');
    const [one, several] = [reader.get('event'), reader.get('events')];
    if (reader.has('event') === reader.has('events'))
      reader.fail(reader.has('event') ? '/events' : '', reader.has('event') ? 'ambiguous' : 'required', 'give event, or events');
    const events = [...new Set(several ?? (one === null ? [] : [one]))];
    const filter = readFilter(reader, reader.get('filter'), events) ?? {};
    reader.finish();
    // `finish` throws unless the URL is valid.
    const wanted: Wanted = { url: url as string, events, filter, disabled: null };
    const keyId = request.call.charge.keyId;
    await webhooks.names.refuseUnreachable(keyId, wanted.url);
    const secret = newSecret();
    const answer = await changeWithAnswer(webhooks, storeAnswer, () => {
      if (webhooks.rows.ofKey(keyId).length >= MAX_WEBHOOKS)
        throw invalid('', 'too_many', `a key may have ${MAX_WEBHOOKS} webhooks; delete one first`);
      return secretAnswer(webhooks.rows.add(keyId, wanted, secret, webhooks.fanOut.streamEnds(), now()), secret, 201);
    });
    webhooks.changed();
    return answer;
  };
}

export function listWebhooks({ webhooks }: WebhookDependencies): Endpoint {
  return (_body, request) => jsonAnswer({ data: webhooks.rows.ofKey(request.call.charge.keyId).map(webhookRecord) });
}

export function getWebhook({ webhooks }: WebhookDependencies): Endpoint {
  return (_body, request) => jsonAnswer(webhookRecord(findWebhook(webhooks, request)));
}

export function changeWebhook({ webhooks, now }: WebhookDependencies): Endpoint {
  return async (body, request) => {
    // An invalid body is refused before an unknown webhook.
    const before = webhooks.rows.find(idOf(request), request.call.charge.keyId);
    const requested = readChange(body, before, webhooks.isDevelopment);
    if (before === null) throw noWebhook();
    if (requested.url !== before.url) await webhooks.names.refuseUnreachable(before.keyId, requested.url);
    const ends = webhooks.fanOut.streamEnds();
    // Earlier events follow the old settings, as far as the fan-out finishes in time. A webhook that is or becomes disabled skips them.
    const isFannedOut = before.disabled === null && requested.disabled === null && positionsAfter(before, requested, ends) !== null;
    const reached = isFannedOut ? await webhooks.fanOut.fanOutAll(before, ends, FAN_OUT_WITHIN_MS) : ends;
    const changed = await webhooks.writes.write(() => {
      const current = findWebhook(webhooks, request);
      // Another request or an erasure may have changed the webhook meanwhile.
      const wanted = readChange(body, current, webhooks.isDevelopment);
      webhooks.rows.change(current.id, wanted, positionsAfter(current, wanted, reached), now());
      if (wanted.disabled !== null) webhooks.deliveries.giveUpAllOf(current.id, 'webhook_disabled');
      if (wanted.url !== current.url) webhooks.deliveries.move(current.id, new URL(wanted.url).host);
      return findWebhook(webhooks, request);
    });
    webhooks.changed();
    return jsonAnswer(webhookRecord(changed));
  };
}

export function deleteWebhook({ webhooks }: WebhookDependencies): Endpoint {
  return async (_body, request) => {
    await webhooks.writes.write(() => {
      const { id } = findWebhook(webhooks, request);
      webhooks.rows.remove(id);
      webhooks.deliveries.removeAllOf(id);
    });
    webhooks.changed();
    return { status: 204, text: '', credits: 0 };
  };
}

export function rotateWebhookSecret({ webhooks, now }: WebhookDependencies): Endpoint {
  return (_body, request, storeAnswer) => {
    const secret = newSecret();
    return changeWithAnswer(webhooks, storeAnswer, () => {
      const webhook = findWebhook(webhooks, request);
      const updatedMs = now();
      webhooks.rows.rotate(webhook.id, secret, updatedMs + FORMER_SIGNS_MS, updatedMs);
      return secretAnswer({ ...webhook, updatedMs }, secret, 200);
    });
  };
}

export function testWebhook({ webhooks, now }: WebhookDependencies): Endpoint {
  const slots = new ConcurrencySlots(TESTS);
  return async (_body, request) => {
    const { id, keyId, url, events } = findWebhook(webhooks, request);
    const destination = { keyId, host: new URL(url).host };
    if (slots.freeFor(destination) === 0)
      throw new ServiceError('overloaded', 'too many webhooks are being tested', { headers: { 'retry-after': RETRY_S } });
    const [type] = events as readonly [EventType];
    slots.acquire(destination);
    try {
      const { status, error } = await webhooks.dispatcher.attempt(
        url,
        webhooks.dispatcher.secretsOf(id),
        `msg_test_${randomBytes(12).toString('base64url')}`,
        eventBody(type, now(), { test: true, webhook: id }),
      );
      return jsonAnswer({ delivered: status !== null && status >= 200 && status < 300, type, status, error });
    } finally {
      slots.release(destination, true);
    }
  };
}

/** The fields of a webhook after a change. @param before null for an unknown webhook: only the body is checked */
function readChange(body: unknown, before: Webhook | null, isDevelopment: boolean): Wanted {
  const reader = new BodyReader(body, WEBHOOK_CHANGE_BODY);
  const url = readWebhookUrl(reader, isDevelopment, 'url');
  const [events, enabled, given] = [reader.get('events'), reader.get('enabled'), reader.get('filter')];
  const allEvents = [...new Set(events ?? before?.events ?? [])];
  const filter = readFilter(reader, given ?? before?.filter ?? null, allEvents, given === null ? '/events' : '/filter');
  reader.finish();
  const disabled = enabled === null ? (before?.disabled ?? null) : enabled ? null : (before?.disabled ?? 'by_request');
  return { url: url ?? before?.url ?? '', events: allEvents, filter: filter ?? {}, disabled };
}

/** Checks a filter. @param blame the JSON pointer of errors about an event type that does not support a field */
function readFilter(
  reader: Lookupable,
  given: WebhookFilter | null,
  events: readonly EventType[],
  blame = '/filter',
): WebhookFilter | null {
  if (given === null) return null;
  // The size is checked only for lists of strings: other values are refused anyway.
  const isListsOfText = Object.values(given).every(
    (values: unknown) => Array.isArray(values) && values.every((value) => typeof value === 'string'),
  );
  if (isListsOfText && Buffer.byteLength(JSON.stringify(given)) > MAX_FILTER_BYTES)
    reader.fail('/filter', 'too_long', `filter has more than ${MAX_FILTER_BYTES} bytes as JSON`);
  for (const [name, values] of Object.entries(given) as [FilterName, readonly unknown[]][]) {
    // The reader has already refused unknown fields and values that are not lists.
    const known = Object.hasOwn(FILTER_VALUES, name) ? FILTER_VALUES[name] : undefined;
    if (known === undefined || !Array.isArray(values)) continue;
    const unsupported = events.find((event) => !filtersOf(event).includes(name));
    if (unsupported !== undefined)
      reader.fail(
        blame === '/filter' ? `/filter/${name}` : blame,
        'not_for_event',
        `${unsupported} cannot be chosen by ${name}; make a webhook of its own for it`,
      );
    for (const [at, value] of values.entries())
      if (typeof value === 'string' && known.read(value) === null)
        reader.fail(`/filter/${name}/${at}`, 'format', `filter.${name}[${at}] ${known.wanted}`);
  }
  return given;
}

/**
 * The stream positions after a change: `ends`, so that the new settings apply only to later events. Null when events, filter and state
 * stay the same, and so do the positions.
 */
function positionsAfter(before: Webhook, { events, filter, disabled }: Wanted, ends: StreamPositions): StreamPositions | null {
  const isChanged = JSON.stringify([before.events, before.filter, before.disabled]) !== JSON.stringify([events, filter, disabled]);
  return isChanged ? ends : null;
}

export function findWebhook({ rows }: Webhooks, request: FastifyRequest): Webhook {
  const found = rows.find(idOf(request), request.call.charge.keyId);
  if (found === null) throw noWebhook();
  return found;
}

function noWebhook(): ServiceError {
  return new ServiceError('not_found', 'this key has no webhook of this id');
}

function idOf({ params }: FastifyRequest): string {
  return (params as { readonly id: string }).id;
}

function invalid(pointer: string, code: string, detail: string): ServiceError {
  return new ServiceError('validation_failed', detail, { errors: [{ pointer, code, detail }] });
}

function jsonAnswer(record: unknown): EndpointAnswer {
  return { status: 200, text: JSON.stringify(record), credits: 0 };
}

/** The answer with a webhook's new secret. An answer that is stored for an Idempotency-Key has the secret encrypted. */
function secretAnswer(webhook: Webhook, secret: Uint8Array, status: 200 | 201): EndpointAnswer {
  const { id, filter } = webhook;
  const encoded = secretText(secret);
  return {
    status,
    text: JSON.stringify({ ...webhookRecord(webhook), secret: encoded }),
    secret: encoded,
    named: { people: filter.id ?? [], profiles: (filter.linkedin_url ?? []).flatMap((url) => profileKey(url) ?? []) },
    ...(status === 201 ? { headers: { location: `/v1/webhooks/${id}` } } : {}),
    credits: 0,
  };
}
