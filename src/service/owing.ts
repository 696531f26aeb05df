/** What answers cost and took from a quota is in the store before they are sent, or they are not sent; what is refused costs nothing. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { problemText } from './api-route.ts';
import type { Call, ServiceContext } from './context.ts';
import { ERRORS, PROBLEM_TYPE, type ServiceError } from './errors.ts';
import { isSettled } from './idempotency.ts';
import { damaged, unwritten } from './unwritten.ts';

/** Headers of an answer that is not given after all. */
const OF_THE_ANSWER = ['etag', 'link', 'location', 'idempotency-replayed', 'preference-applied', 'content-length', 'www-authenticate', 'allow'];

/** How long an answer that cost something waits for a store that is busy, before it is refused instead, milliseconds. */
export const PAID_WAITS_MS = 2_000;
/** How long one waits that is merely kept for its Idempotency-Key, before it is sent and written down after it. */
const KEPT_WAITS_MS = 50;

/**
 * Null: the answer may go at once. Else what it waits for, and then what it is refused with; null: nothing, it may go.
 * On a disk that takes nothing, what costs no credits and no call of a trial is answered all the same, and its share of the quota is written later.
 */
export function settle({ keys, quota, journal, idempotency }: ServiceContext, { key, idempotent, owing, isLost }: Call): Promise<ServiceError | null> | null {
  if (key === null) return null;
  const owesQuota = (): boolean => key.rpm !== null && quota.owes(key.id);
  const mustBeWritten = owing || keys.owesCharge(key.id);
  if (mustBeWritten || keys.owes(key.id) || owesQuota()) {
    return journal.written(PAID_WAITS_MS).then((isWritten) => {
      const hasLost = isLost?.() === true;
      if (isWritten) return hasLost || keys.owes(key.id) || owesQuota() ? damaged() : null;
      return mustBeWritten || !journal.hasNoDisk ? unwritten(journal.failure, 'charged') : null;
    });
  }
  return idempotent && idempotency.size > 0 ? journal.written(KEPT_WAITS_MS).then(() => (isLost?.() === true ? damaged() : null)) : null;
}

/** Takes back what was booked for a request that is refused with `status`: what settles nothing costs nothing and repeats nothing, and where there was no room or no quota for it, no quota either. */
export function takeBack({ quota, clock }: Pick<ServiceContext, 'quota' | 'clock'>, call: Call, status: number): void {
  if (isSettled(status)) return;
  call.undo?.();
  call.replayed = false;
  const { key, tokens } = call;
  if (key === null || key.rpm === null || tokens === 0 || (status !== ERRORS.rate_limited.status && status !== ERRORS.overloaded.status)) return;
  call.tokens = 0;
  call.quota = quota.giveBack(key.id, key.rpm, clock(), tokens);
}

/** Makes a refusal of an answer that could not be written down, and takes back what it cost. Returns the body. */
export function refuseUnwritten(context: Pick<ServiceContext, 'quota' | 'clock'>, request: FastifyRequest, reply: FastifyReply, refusal: ServiceError, instead: unknown): Buffer {
  if (instead instanceof Readable) instead.destroy();
  takeBack(context, request.call, refusal.status);
  for (const name of OF_THE_ANSWER) reply.removeHeader(name);
  reply.code(refusal.status).headers(refusal.headers).header('content-type', PROBLEM_TYPE);
  return Buffer.from(problemText(refusal, request));
}
