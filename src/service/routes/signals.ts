/** GET /v1/signals: by what the client accepts a page of JSON, all of them as lines of JSON, or a live stream of events. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { accepted } from '../accepted.ts';
import { apiRoute, bookCall } from '../api-route.ts';
import type { Endpoint, ServiceContext } from '../context.ts';
import { ServiceError } from '../errors.ts';
import type { ActiveKey } from '../key-ring.ts';
import type { SparseRecord } from '../records.ts';
import { SIGNAL_LIMIT } from '../operations/signals.ts';
import { signalEvents, type EventStreams } from '../signal-events.ts';
import type { SignalFeed } from '../store/signal-feed.ts';
import { leave } from '../watch/follow-calls.ts';
import { nextUrl, writeCursor } from './cursor.ts';
import { readSignalQuery, type QueryValues, type SignalQuery } from './signal-query.ts';

/** Lines read from the store at a time. */
const LINES_AT_ONCE = 500;
const NDJSON = 'application/x-ndjson';
const EVENTS = 'text/event-stream';
/** Seconds until another stream may be free. */
const RETRY_S = '30';

/** Handles the route; streams end when `app` closes. Nothing of it is charged. */
export function signals(app: FastifyInstance, context: ServiceContext): RouteHandlerMethod {
  const { streams } = context;
  app.addHook('preClose', async () => streams.close());
  const page = apiRoute(context, pageEndpoint(context.signals), 0);
  // Not async: what `page` has answered must not be sent again as what a promise came to.
  return (request, reply) => {
    const wanted = request.method === 'HEAD' ? null : accepted(request.headers.accept, [EVENTS, NDJSON], 'application/json');
    switch (wanted) {
      case EVENTS:
        return sendEvents(context, streams, request, reply);
      case NDJSON:
        return sendLines(context, request, reply);
      case null:
        return page(request, reply);
      default:
        return wanted satisfies never;
    }
  };
}

function pageEndpoint(signals: SignalFeed): Endpoint {
  return (_body, request) => {
    heardOf(request);
    const { signals: shown, limit, next } = signalPage(signals, request.query as QueryValues);
    const text = JSON.stringify({ data: shown.map(({ record }) => record), meta: { limit, next_cursor: next } });
    return { status: 200, text, credits: 0, headers: next === null ? {} : { link: `<${nextUrl(request.url, next)}>; rel="next"` } };
  };
}

export interface SignalPage {
  readonly signals: readonly { readonly record: SparseRecord; readonly cursor: () => string }[];
  readonly limit: number;
  /** Where the next page begins; null: this is the last. */
  readonly next: string | null;
}

/** The newest signals that match. @throws ServiceError */
export function signalPage(feed: SignalFeed, query: QueryValues): SignalPage {
  const { filter, after, limit, question } = readSignalQuery(query);
  const size = limit ?? SIGNAL_LIMIT.schema.default;
  const found = feed.page(filter, after, size + 1);
  const signals = found.slice(0, size).map(({ record, occurredMs, seq }) => ({ record, cursor: () => writeCursor(question, [occurredMs, seq]) }));
  return { signals, limit: size, next: found.length > size ? (signals.at(-1)?.cursor() ?? null) : null };
}

function begin(context: ServiceContext, request: FastifyRequest): SignalQuery {
  const query = readSignalQuery(request.query as QueryValues);
  heardOf(request);
  if (query.after !== null) {
    const detail = 'a stream takes no cursor: it begins at the first signal, or after Last-Event-ID';
    throw new ServiceError('invalid_parameter', detail, { errors: [{ parameter: 'cursor', code: 'not_for_streams', detail }] });
  }
  bookCall(context, request);
  return query;
}

/** In the order in which they became known, to the end of what is known now, or `limit` of them. */
function sendLines(context: ServiceContext, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { filter, limit } = begin(context, request);
  const lines = function* (): Generator<string> {
    const end = context.signals.last();
    let left = limit ?? Infinity;
    for (let seq = 0; seq < end && left > 0; ) {
      const { signals, upTo } = context.signals.following(filter, seq, Math.min(left, LINES_AT_ONCE));
      left -= signals.length;
      seq = upTo;
      if (signals.length > 0) yield signals.map(({ record }) => `${JSON.stringify(record)}\n`).join('');
    }
  };
  // Who takes nothing of a stream is not waited for. The heartbeat counts as something.
  request.raw.socket.setTimeout(context.limits.stalledMs);
  return reply.header('content-type', NDJSON).send(Readable.from(lines(), { objectMode: false }));
}

function sendEvents(context: ServiceContext, streams: EventStreams, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { filter } = begin(context, request);
  const from = startOf(request, context.signals, filter.since !== null);
  const stop = streams.open((request.call.key as ActiveKey).id);
  if (stop === null) throw new ServiceError('overloaded', 'too many event streams are open', { headers: { 'retry-after': RETRY_S } });
  // Whoever lost their key hears no more.
  const mayHear = (): boolean => context.keys.resolve(request.headers.authorization) !== null;
  leave(context.gate, request.call);
  // Who takes nothing of a stream is not waited for. The heartbeat counts as something.
  request.raw.socket.setTimeout(context.limits.stalledMs);
  const body = Readable.from(signalEvents(context.signals, filter, from, mayHear, stop.signal), { objectMode: false });
  reply.raw.once('close', () => stop.abort());
  body.once('close', () => stop.abort());
  return reply.headers({ 'content-type': EVENTS, 'cache-control': 'no-store', 'x-accel-buffering': 'no' }).send(body);
}

/** After the event that was heard last; else, with `since`, from the first on, so that what matches is caught up with; else from now on. */
function startOf(request: FastifyRequest, signals: SignalFeed, fromTheFirst: boolean): number {
  const heard = heardOf(request);
  if (heard === null) return fromTheFirst ? 0 : signals.last();
  // One that was heard of a store whose backup is served now is beyond its end: all that becomes known up to there would be passed over.
  return Math.min(heard, signals.last());
}

/** The event after which a stream goes on; null: it does not say. @throws ServiceError for another form of answer as well: it is wrong there too */
function heardOf({ headers }: FastifyRequest): number | null {
  const heard = headers['last-event-id'];
  if (heard === undefined || heard === '') return null;
  if (typeof heard === 'string' && /^\d{1,15}$/.test(heard)) return Number(heard);
  const detail = 'Last-Event-ID must be the id of an event of this stream';
  throw new ServiceError('invalid_parameter', detail, { errors: [{ parameter: 'Last-Event-ID', code: 'format', detail }] });
}
