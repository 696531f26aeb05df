/** /v1/webhooks: subscriptions, each for the key that made it. */
import { randomBytes } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Answer, Endpoint, ServiceContext } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { MAX_WEBHOOKS, WEBHOOK_BODY, WEBHOOK_CHANGE_BODY } from '../operations/webhooks.ts';
import { BodyReader, type Lookupable } from '../validate.ts';
import { eventBody, type EventType } from '../webhooks/announcement.ts';
import { FILTER_VALUES, filtersOf, type FilterName, type WebhookFilter } from '../webhooks/filter.ts';
import { newSecret } from '../webhooks/signature.ts';
import { Slots } from '../webhooks/slots.ts';
import { readWebhookUrl } from '../webhooks/url.ts';
import type { Places, Wanted, Webhook } from '../webhooks/webhook-rows.ts';
import { answeredChange } from './answered-change.ts';
import { keyOf } from './key-of.ts';
import { webhookRecord } from './webhook-records.ts';
import { secretAnswer } from './webhook-secrets.ts';

type Parts = Pick<ServiceContext, 'webhooks' | 'now'>;

/** For how long the secret that was replaced signs, too. */
const FORMER_SIGNS_MS = 24 * 3_600_000;
/** Tests that are under way: they have slots of their own, for deliveries to a receiver that is slow must not keep anybody from finding that out. */
const TESTS = { most: 20, mostAHost: 4 } as const;
const RETRY_S = '5';
/** Of a filter, as JSON: filters are read again and again. */
const MAX_FILTER_BYTES = 128 * 1024;
/** How long a change waits until the webhook was told of what was noticed before it. After a large import there may be millions of signals. */
const TOLD_WITHIN_MS = 2_000;

export function createWebhook({ webhooks, now }: Parts): Endpoint {
  return async (body, request) => {
    const reader = new BodyReader(body, WEBHOOK_BODY);
    const url = readWebhookUrl(reader, webhooks.isDevelopment, 'url');
    if (!reader.has('url')) reader.fail('', 'required', 'give url: where events are to be sent');
    const [one, several] = [reader.get('event'), reader.get('events')];
    if (reader.has('event') === reader.has('events')) reader.fail(reader.has('event') ? '/events' : '', reader.has('event') ? 'ambiguous' : 'required', 'give event, or events');
    const events = [...new Set(several ?? (one === null ? [] : [one]))];
    const filter = readFilter(reader, reader.get('filter'), events) ?? {};
    reader.finish();
    // `finish` has thrown unless there is a good address.
    const wanted: Wanted = { url: url as string, events, filter, disabled: null };
    const keyId = keyOf(request);
    await webhooks.names.refuseUnreachable(keyId, wanted.url);
    const secret = newSecret();
    const made = await answeredChange(webhooks, request, () => {
      if (webhooks.rows.ofKey(keyId).length >= MAX_WEBHOOKS) throw invalid('', 'too_many', `a key may have ${MAX_WEBHOOKS} webhooks; delete one first`);
      return secretAnswer(webhooks.rows.add(keyId, wanted, secret, webhooks.news.ends(), now()), secret, 201);
    });
    webhooks.changed();
    return made;
  };
}

export function listWebhooks({ webhooks }: Parts): Endpoint {
  return (_body, request) => answer({ data: webhooks.rows.ofKey(keyOf(request)).map(webhookRecord) });
}

export function getWebhook({ webhooks }: Parts): Endpoint {
  return (_body, request) => answer(webhookRecord(findWebhook(webhooks, request)));
}

export function changeWebhook({ webhooks, now }: Parts): Endpoint {
  return async (body, request) => {
    // Without a webhook it is the body that is wrong first.
    const before = webhooks.rows.find(idOf(request), keyOf(request));
    const asked = readChange(body, before, webhooks.isDevelopment);
    if (before === null) throw noWebhook();
    if (asked.url !== before.url) await webhooks.names.refuseUnreachable(before.keyId, asked.url);
    const ends = webhooks.news.ends();
    // What was noticed until now, it is told of by what held until now, as far as somebody can wait for that; one that is disabled gives it up.
    const isTold = before.disabled === null && asked.disabled === null && goesOnAt(before, asked, ends) !== null;
    const places = isTold ? await webhooks.news.tellAll(before, ends, TOLD_WITHIN_MS) : ends;
    const changed = await webhooks.writes.write(() => {
      const kept = findWebhook(webhooks, request);
      // It may have been changed meanwhile, or somebody erased from its filter.
      const wanted = readChange(body, kept, webhooks.isDevelopment);
      webhooks.rows.change(kept.id, wanted, goesOnAt(kept, wanted, places), now());
      if (wanted.disabled !== null) webhooks.deliveries.giveUpAllOf(kept.id, 'webhook_disabled');
      if (wanted.url !== kept.url) webhooks.deliveries.move(kept.id, new URL(wanted.url).host);
      return findWebhook(webhooks, request);
    });
    webhooks.changed();
    return answer(webhookRecord(changed));
  };
}

export function deleteWebhook({ webhooks }: Parts): Endpoint {
  return async (_body, request) => {
    await webhooks.writes.write(() => {
      const { id } = findWebhook(webhooks, request);
      webhooks.rows.remove(id);
      webhooks.deliveries.forgetAllOf(id);
    });
    webhooks.changed();
    return { status: 204, text: '', credits: 0 };
  };
}

export function rotateWebhookSecret({ webhooks, now }: Parts): Endpoint {
  return (_body, request) => {
    const secret = newSecret();
    return answeredChange(webhooks, request, () => {
      const kept = findWebhook(webhooks, request);
      const updatedMs = now();
      webhooks.rows.rotate(kept.id, secret, updatedMs + FORMER_SIGNS_MS, updatedMs);
      return secretAnswer({ ...kept, updatedMs }, secret, 200);
    });
  };
}

export function testWebhook({ webhooks, now }: Parts): Endpoint {
  const slots = new Slots(TESTS);
  return async (_body, request) => {
    const { id, keyId, url, events } = findWebhook(webhooks, request);
    const lane = { keyId, host: new URL(url).host };
    if (slots.free(lane) === 0) throw new ServiceError('overloaded', 'too many webhooks are being tested', { headers: { 'retry-after': RETRY_S } });
    const [type] = events as readonly [EventType];
    slots.take(lane);
    try {
      const { status, error } = await webhooks.courier.attempt(url, webhooks.courier.secretsOf(id), `msg_test_${randomBytes(12).toString('base64url')}`, eventBody(type, now(), { test: true, webhook: id }));
      return answer({ delivered: status !== null && status >= 200 && status < 300, type, status, error });
    } finally {
      slots.giveBack(lane, true);
    }
  };
}

/** What a webhook is to be by a body that names changes alone. @param before null: there is none, and the body alone is looked at */
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

/** The filter, unless something is wrong with it. @param blame where it is told that an event does not know a field of it */
function readFilter(reader: Lookupable, given: WebhookFilter | null, events: readonly EventType[], blame = '/filter'): WebhookFilter | null {
  if (given === null) return null;
  // Lists of text can be written, whatever else may be in its place.
  const isSound = Object.values(given).every((values: unknown) => Array.isArray(values) && values.every((value) => typeof value === 'string'));
  if (isSound && Buffer.byteLength(JSON.stringify(given)) > MAX_FILTER_BYTES) reader.fail('/filter', 'too_long', `filter has more than ${MAX_FILTER_BYTES} bytes as JSON`);
  for (const [name, values] of Object.entries(given) as [FilterName, readonly unknown[]][]) {
    // What is none of a filter's fields, or no list of text, was told by the reader already.
    const known = Object.hasOwn(FILTER_VALUES, name) ? FILTER_VALUES[name] : undefined;
    if (known === undefined || !Array.isArray(values)) continue;
    const stranger = events.find((event) => !filtersOf(event).includes(name));
    if (stranger !== undefined) reader.fail(blame === '/filter' ? `/filter/${name}` : blame, 'not_for_event', `${stranger} cannot be chosen by ${name}; make a webhook of its own for it`);
    for (const [at, value] of values.entries()) if (typeof value === 'string' && known.read(value) === null) reader.fail(`/filter/${name}/${at}`, 'format', `filter.${name}[${at}] ${known.wanted}`);
  }
  return given;
}

/** Where one goes on in the streams of what is told: behind what was looked at by what held until now. What happened while it was not told anything of that kind is passed over. */
function goesOnAt(before: Webhook, { events, filter, disabled }: Wanted, ends: Places): Places | null {
  const isAnother = JSON.stringify([before.events, before.filter, before.disabled]) !== JSON.stringify([events, filter, disabled]);
  return isAnother ? ends : null;
}

export function findWebhook({ rows }: ServiceContext['webhooks'], request: FastifyRequest): Webhook {
  const found = rows.find(idOf(request), keyOf(request));
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

function answer(record: unknown): Answer {
  return { status: 200, text: JSON.stringify(record), credits: 0 };
}
