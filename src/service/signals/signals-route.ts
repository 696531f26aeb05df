/** GET /v1/signals: by what the client accepts a page of JSON, all of them as lines of JSON, or a live stream of events. */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import type { KeyRing } from '../accounts/key-ring.ts';
import { apiRoute, type ApiRouteDependencies } from '../calls/api-route.ts';
import type { Endpoint } from '../calls/endpoint.ts';
import type { Limits } from '../guards/limits.ts';
import type { LoadGate } from '../guards/load-gate.ts';
import { accepted } from '../http/accept-header.ts';
import { nextUrl } from '../http/cursor.ts';
import { ServiceError } from '../http/problem.ts';
import type { SignalFeed } from '../store/rows/signal-feed.ts';
import { andThen } from '../../util/steps.ts';
import type { Turns } from '../guards/turns.ts';
import { signalEvents, writeEvent, type EventStreams } from './signal-events.ts';
import { signalPage } from './signal-page.ts';
import { nextText, type SignalsAsked } from './signal-text.ts';
import { readSignalQuery, type QueryValues, type SignalQuery } from './signal-query.ts';

const NDJSON = 'application/x-ndjson';
const EVENTS = 'text/event-stream';
/** Seconds until another stream may be free. */
const RETRY_S = '30';

export interface SignalsDependencies extends ApiRouteDependencies {
  readonly signals: SignalFeed;
  readonly streams: EventStreams;
  readonly turns: Turns;
  readonly keys: Pick<KeyRing, 'resolve'>;
  readonly gate: Pick<LoadGate, 'leave'>;
  readonly limits: Pick<Limits, 'stalledMs'>;
}

/** Handles the route. It costs no credits. */
export function signalsRoute(dependencies: SignalsDependencies): RouteHandlerMethod {
  const page = apiRoute(dependencies, pageEndpoint(dependencies), { isFree: true });
  // Not async: Fastify would send what the promise resolves with, after `page` has answered.
  return (request, reply) => {
    const wanted = request.method === 'HEAD' ? null : accepted(request.headers.accept, [EVENTS, NDJSON], 'application/json');
    switch (wanted) {
      case EVENTS:
        return sendEvents(dependencies, request, reply);
      case NDJSON:
        return sendLines(dependencies, request, reply);
      case null:
        return page(request, reply);
      default:
        return wanted satisfies never;
    }
  };
}

function pageEndpoint({ signals: feed, turns }: SignalsDependencies): Endpoint {
  return (_body, request) => {
    heardOf(request);
    return andThen(turns.run(request.call.charge.keyId, signalPage(feed, request.query as QueryValues)), ({ signals, limit, next }) => {
      const text = JSON.stringify({ data: signals.map(({ record }) => record), meta: { limit, next_cursor: next } });
      return { status: 200, text, credits: 0, headers: next === null ? {} : { link: `<${nextUrl(request.url, next)}>; rel="next"` } };
    });
  };
}

function begin(request: FastifyRequest): SignalQuery {
  const query = readSignalQuery(request.query as QueryValues);
  heardOf(request);
  if (query.after !== null) {
    const detail = 'a stream takes no cursor: it begins at the first signal, or after Last-Event-ID';
    throw new ServiceError('invalid_parameter', detail, { errors: [{ parameter: 'cursor', code: 'not_for_streams', detail }] });
  }
  request.call.charge.bookCalls();
  return query;
}

/** In the order in which they became known, to the end of what is known now, or `limit` of them. */
function sendLines({ signals: feed, turns, limits }: SignalsDependencies, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { filter, limit } = begin(request);
  const { keyId } = request.call.charge;
  const asked: SignalsAsked = { feed, filter, write: ({ record }) => `${JSON.stringify(record)}\n` };
  const lines = async function* (): AsyncGenerator<string> {
    const end = feed.last();
    let left = limit ?? Infinity;
    for (let seq = 0; seq < end && left > 0;) {
      const { text, count, upTo } = await turns.run(keyId, nextText(asked, seq, left));
      left -= count;
      seq = upTo;
      if (count > 0) yield text;
    }
  };
  // A client that reads nothing loses its connection.
  request.raw.socket.setTimeout(limits.stalledMs);
  return reply.header('content-type', NDJSON).send(Readable.from(lines(), { objectMode: false }));
}

function sendEvents(dependencies: SignalsDependencies, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { signals: feed, streams, turns, keys, gate, limits } = dependencies;
  const { filter } = begin(request);
  const { keyId } = request.call.charge;
  const asked: SignalsAsked = { feed, filter, write: writeEvent };
  const from = startOf(request, feed, filter.since !== null);
  const stop = streams.open(keyId);
  if (stop === null) throw new ServiceError('overloaded', 'too many event streams are open', { headers: { 'retry-after': RETRY_S } });
  // A revoked key ends its streams.
  const mayHear = (): boolean => keys.resolve(request.headers.authorization) !== null;
  gate.leave(request.call);
  // A client that reads nothing loses its connection. The heartbeat counts as something to read.
  request.raw.socket.setTimeout(limits.stalledMs);
  const body = Readable.from(
    signalEvents((seq) => turns.run(keyId, nextText(asked, seq, Infinity)), from, mayHear, stop.signal),
    { objectMode: false },
  );
  reply.raw.once('close', () => stop.abort());
  body.once('close', () => stop.abort());
  return reply.headers({ 'content-type': EVENTS, 'cache-control': 'no-store', 'x-accel-buffering': 'no' }).send(body);
}

/** After the event that was heard last; else, with `since`, from the first on, so that what matches is caught up with; else from now on. */
function startOf(request: FastifyRequest, signals: SignalFeed, fromTheFirst: boolean): number {
  const heard = heardOf(request);
  if (heard === null) return fromTheFirst ? 0 : signals.last();
  // After a restore the last id may be beyond the end of the feed: signals up to it would be skipped.
  return Math.min(heard, signals.last());
}

/**
 * The event after which a stream goes on, or null without the header.
 * @throws ServiceError for another form of answer as well: it is wrong there too
 */
function heardOf({ headers }: FastifyRequest): number | null {
  const heard = headers['last-event-id'];
  if (heard === undefined || heard === '') return null;
  if (typeof heard === 'string' && /^\d{1,15}$/.test(heard)) return Number(heard);
  const detail = 'Last-Event-ID must be the id of an event of this stream';
  throw new ServiceError('invalid_parameter', detail, { errors: [{ parameter: 'Last-Event-ID', code: 'format', detail }] });
}
