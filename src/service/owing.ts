/** What answers cost and took from a quota is in the store before they are sent, or they are not sent; what is refused costs nothing. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { problemText } from './api-route.ts';
import type { Call, ServiceContext } from './context.ts';
import { ERRORS, PROBLEM_TYPE, ServiceError } from './errors.ts';
import { isSettled } from './idempotency.ts';

/** Seconds after which the store may be free again. */
export const UNWRITTEN_RETRY_S = '1';
/** Headers of an answer that is not given after all. */
const OF_THE_ANSWER = ['etag', 'link', 'location', 'idempotency-replayed', 'preference-applied', 'content-length', 'www-authenticate', 'allow'];

/** How long an answer that cost something waits for a store that is busy, before it is refused instead, milliseconds. */
export const PAID_WAITS_MS = 2_000;
/** How long one waits that is merely kept for its Idempotency-Key, before it is sent and written down after it. */
const KEPT_WAITS_MS = 50;

/** Null: the answer may go. Else what it waits for, and whether it may be sent then. */
export function settle({ keys, quota, idempotency, journal }: ServiceContext, { key, idempotent, owing }: Call): Promise<boolean> | null {
  if (key === null) return null;
  if (owing || keys.owes(key.id) || (key.rpm !== null && quota.owes(key.id))) return journal.written(PAID_WAITS_MS);
  return idempotent && idempotency.size > 0 ? journal.written(KEPT_WAITS_MS).then(() => true) : null;
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

/** Makes a 503 of an answer that could not be written down in time, and takes back what it cost. Returns the body. */
export function refuseUnwritten(context: Pick<ServiceContext, 'quota' | 'clock'>, request: FastifyRequest, reply: FastifyReply, instead: unknown): Buffer {
  if (instead instanceof Readable) instead.destroy();
  const refusal = new ServiceError('overloaded', 'the store is busy, and nothing was charged; send the same request again', { headers: { 'retry-after': UNWRITTEN_RETRY_S } });
  takeBack(context, request.call, refusal.status);
  for (const name of OF_THE_ANSWER) reply.removeHeader(name);
  reply.code(refusal.status).headers(refusal.headers).header('content-type', PROBLEM_TYPE);
  return Buffer.from(problemText(refusal, request));
}
