/** Answers that owe something: what they cost or took from a quota is in the store before they are sent, or they are not sent. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { problemText } from './api-route.ts';
import type { Call, ServiceContext } from './context.ts';
import { PROBLEM_TYPE, ServiceError } from './errors.ts';

/** Seconds after which the store may be free again. */
const RETRY_S = '1';
/** Headers of an answer that is not given after all. */
const OF_THE_ANSWER = ['etag', 'link', 'location', 'idempotency-replayed', 'preference-applied', 'content-length', 'www-authenticate', 'allow'];

/** How long an answer that cost something waits for a store that is busy, before it is refused instead, milliseconds. */
const PAID_WAITS_MS = 2_000;
/** How long one waits that is merely kept for its Idempotency-Key, before it is sent and written down after it. */
const KEPT_WAITS_MS = 50;

/** Null: the answer may go. Else what it waits for, and whether it may be sent then. */
export function settle({ keys, quota, idempotency, journal }: ServiceContext, { key, idempotent, owing }: Call): Promise<boolean> | null {
  if (key === null) return null;
  if (owing || keys.owes(key.id) || (key.rpm !== null && quota.owes(key.id))) return journal.written(PAID_WAITS_MS);
  return idempotent && idempotency.size > 0 ? journal.written(KEPT_WAITS_MS).then(() => true) : null;
}

/** Makes a 503 of an answer that could not be written down in time, and takes back what it cost. Returns the body. */
export function refuseUnwritten(request: FastifyRequest, reply: FastifyReply, instead: unknown): Buffer {
  request.call.undo?.();
  request.call.replayed = false;
  if (instead instanceof Readable) instead.destroy();
  const refusal = new ServiceError('overloaded', 'the store is busy, and nothing was charged; send the same request again', { headers: { 'retry-after': RETRY_S } });
  for (const name of OF_THE_ANSWER) reply.removeHeader(name);
  reply.code(refusal.status).headers(refusal.headers).header('content-type', PROBLEM_TYPE);
  return Buffer.from(problemText(refusal, request));
}
