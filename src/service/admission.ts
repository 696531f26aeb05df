/** Whether a request gets in: its key, region and quota, its query, and the faults asked for. Runs before a body is read. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathOf } from './api-route.ts';
import type { ServiceContext } from './context.ts';
import { ServiceError } from './errors.ts';
import { nearest } from './nearest.ts';
import type { ActiveKey } from './key-ring.ts';
import { damaged } from './unwritten.ts';

/** More names than this in an error help nobody. */
const MANY_PARAMETERS = 20;
/** More of them than this help nobody. */
const MOST_NAMED = 10;
const NO_KEY = 'send an API key that this service knows: Authorization: Bearer KEY';

/** Admits a request to an API route, or throws what it is refused with. */
export function admit(context: ServiceContext, request: FastifyRequest): void {
  const { call } = request;
  const key = context.keys.resolve(request.headers.authorization);
  if (key === null) {
    if (context.keys.wasRevoked(request.headers.authorization)) throw new ServiceError('forbidden', 'this key was revoked, and is accepted no more; take another one');
    throw new ServiceError('unauthorized', NO_KEY, { headers: { 'www-authenticate': 'Bearer' } });
  }
  call.key = key;
  // What it is given could not be charged.
  if (context.keys.isDamaged(key.id)) throw damaged();
  if (key.region !== context.region) {
    peekQuota(context, request, key);
    const detail = `this key belongs to region ${key.region}; this is ${context.region}`;
    throw new ServiceError('wrong_region', detail, { errors: [{ parameter: 'Authorization', code: 'wrong_region', detail: key.region }] });
  }
  if (key.rpm !== null) {
    call.quota = context.quota.take(key.id, key.rpm, context.clock());
    if (!call.quota.allowed) {
      throw new ServiceError('rate_limited', `the quota of ${key.rpm} requests a minute is used up`, {
        headers: { 'retry-after': String(call.quota.retryAfterS) },
      });
    }
    call.tokens = 1;
  }
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  const takesGzip = request.routeOptions.config.raw !== undefined;
  if (encoding !== 'identity' && !(encoding === 'gzip' && takesGzip)) {
    throw new ServiceError('unsupported_media_type', `send the body as it is, ${takesGzip ? 'or with Content-Encoding: gzip' : 'without Content-Encoding'}`);
  }
  refuseBadQuery(request);
}

/** Fills in the key and quota of a request that costs none of it, for its headers. */
export function tellQuota(context: ServiceContext, request: FastifyRequest): void {
  const key = context.keys.resolve(request.headers.authorization);
  if (key !== null) peekQuota(context, request, key);
}

function peekQuota(context: ServiceContext, request: FastifyRequest, key: ActiveKey): void {
  request.call.key = key;
  if (key.rpm !== null) request.call.quota = context.quota.peek(key.id, key.rpm, context.clock());
}

/** @throws ServiceError naming the query parameters that the route has not, with the known ones that they resemble; or those that are repeated and have one value */
export function refuseBadQuery(request: FastifyRequest): void {
  if (!request.url.includes('?')) return;
  const parameters = request.routeOptions.config.parameters ?? {};
  const known = Object.keys(parameters);
  const given = request.query as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  const errors = unknown.slice(0, MOST_NAMED).map((name) => ({ parameter: name.slice(0, 64), code: 'unknown_parameter', detail: `unknown query parameter ${JSON.stringify(name.slice(0, 64))}; ${adviceOn(name, known, request)}` }));
  const [first] = errors;
  if (first !== undefined) throw new ServiceError('unknown_parameter', unknown.length === 1 ? first.detail : `${first.detail} (and ${unknown.length - 1} more)`, { errors });
  const repeated = Object.keys(given).filter((name) => Array.isArray(given[name]) && parameters[name]?.most === undefined);
  if (repeated.length === 0) return;
  const twice = repeated.map((parameter) => ({ parameter, code: 'repeated', detail: `${parameter} is given more than once` }));
  throw new ServiceError('invalid_parameter', twice.map(({ detail }) => detail).join(', '), { errors: twice });
}

function adviceOn(name: string, known: readonly string[], { method, url }: FastifyRequest): string {
  const near = nearest(name, known);
  if (near !== null) return `did you mean ${near}?`;
  if (known.length > MANY_PARAMETERS) return 'see the reference for those that are';
  if (known.length > 0) return `known are ${known.join(', ')}`;
  return `${pathOf(url)} takes none${method === 'POST' ? ': send fields in the body' : ''}`;
}

/** Lets the request's fate take its course; `hold` keeps a connection that is never answered. A hijacked reply gets no answer: Fastify does nothing more for it. */
export async function suffer(request: FastifyRequest, reply: FastifyReply, hold: (socket: Socket) => void): Promise<void> {
  const { fate } = request.call;
  if (fate === null) return;
  // It keeps nobody who wants to end.
  if (fate.delayMs > 0) await sleep(fate.delayMs, undefined, { ref: false });
  switch (fate.kind) {
    case 'none':
    case 'drop_after':
      return;
    case 'error':
      throw new ServiceError('internal_error', 'a fault that was asked for');
    case 'throttle':
      throw new ServiceError('rate_limited', 'a fault that was asked for', { headers: { 'retry-after': '1' } });
    case 'drop_before':
      reply.hijack();
      request.raw.socket.destroy();
      return;
    case 'hang':
      reply.hijack();
      hold(request.raw.socket);
      return;
    default:
      fate.kind satisfies never;
  }
}
