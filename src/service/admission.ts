/** Whether a request gets in: its key, region and quota, its query, and the faults asked for. Runs before a body is read. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathOf } from './api-route.ts';
import type { ServiceContext } from './context.ts';
import { ServiceError } from './errors.ts';
import { nearest } from './nearest.ts';
import type { ActiveKey } from './key-ring.ts';

/** More names than this in an error help nobody. */
const MANY_PARAMETERS = 20;
const NO_KEY = 'send an API key that this service knows: Authorization: Bearer KEY';

/** Admits a request to an API route, or throws what it is refused with. */
export function admit(context: ServiceContext, request: FastifyRequest): void {
  const { call } = request;
  const key = context.keys.resolve(request.headers.authorization);
  if (key === null) {
    if (context.keys.wasRevoked(request.headers.authorization)) throw new ServiceError('forbidden', 'this key was revoked; take the one that replaced it');
    throw new ServiceError('unauthorized', NO_KEY, { headers: { 'www-authenticate': 'Bearer' } });
  }
  call.key = key;
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
  if (request.headers['content-encoding'] !== undefined && request.headers['content-encoding'] !== 'identity') {
    throw new ServiceError('unsupported_media_type', 'send the body as it is, without Content-Encoding');
  }
  refuseUnknownParameters(request, request.routeOptions.config.parameters ?? []);
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

/** @throws ServiceError naming the first query parameter that is not in `known`, and the known one that it resembles. */
function refuseUnknownParameters(request: FastifyRequest, known: readonly string[]): void {
  if (!request.url.includes('?')) return;
  for (const name of Object.keys(request.query as Record<string, unknown>)) {
    if (known.includes(name)) continue;
    const near = nearest(name, known);
    const advice = near !== null ? `did you mean ${near}?` : known.length > MANY_PARAMETERS ? 'see the reference for those that are' : known.length === 0 ? `${pathOf(request.url)} takes none: send fields in the body` : `known are ${known.join(', ')}`;
    const detail = `unknown query parameter ${JSON.stringify(name.slice(0, 64))}; ${advice}`;
    throw new ServiceError('unknown_parameter', detail, { errors: [{ parameter: name.slice(0, 64), code: 'unknown_parameter', detail }] });
  }
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
