/** A request that is several calls at once takes as much of the quota, and of a trial, as if each came alone. */
import type { FastifyRequest } from 'fastify';
import { bookCall } from './api-route.ts';
import type { ServiceContext } from './context.ts';
import { ServiceError } from './errors.ts';
import type { ActiveKey } from './key-ring.ts';

/**
 * Takes calls and requests of the quota for all but the first of `count`, which was paid for when it came in.
 * @param what they are
 * @param pointer where they are in the body
 * @throws ServiceError when the plan has not as many calls left, or the quota not as many requests, or never will
 */
export function takeSeveral(context: Pick<ServiceContext, 'keys' | 'quota' | 'clock'>, request: FastifyRequest, count: number, what: string, pointer: string): void {
  const { quota, clock } = context;
  const key = request.call.key as ActiveKey;
  const more = count - 1;
  if (more <= 0) return;
  if (key.rpm !== null && more >= key.rpm) {
    const detail = `${count} ${what} are more than this key's quota of ${key.rpm} requests a minute will ever hold; send fewer at once`;
    throw new ServiceError('validation_failed', detail, { errors: [{ pointer, code: 'too_many', detail }] });
  }
  bookCall(context, request, more);
  if (key.rpm === null) return;
  const decision = quota.take(key.id, key.rpm, clock(), more);
  request.call.quota = decision;
  if (decision.allowed) {
    request.call.tokens += more;
    return;
  }
  throw new ServiceError('rate_limited', `${count} ${what} need as many requests of the quota, and ${decision.remaining + 1} were left`, { headers: { 'retry-after': String(decision.retryAfterS) } });
}
