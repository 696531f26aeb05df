/** Answers that owe something: what they cost, took from a quota or promised to keep is in the store before they are sent, or they are not sent. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { problemText } from './api-route.ts';
import type { Call, ServiceContext } from './context.ts';
import { PROBLEM_TYPE, ServiceError } from './errors.ts';

/** Seconds after which the store may be free again. */
const RETRY_S = '1';
/** Headers of an answer that is not given after all. */
const OF_THE_ANSWER = ['etag', 'link', 'location', 'idempotency-replayed', 'preference-applied', 'content-length', 'www-authenticate', 'allow'];

/** Whether an answer to this call waits for the journal. */
export function owes({ keys, quota, idempotency }: ServiceContext, { key, idempotent }: Call): boolean {
  return key !== null && (keys.owes(key.id) || (key.rpm !== null && quota.owes(key.id)) || (idempotent && idempotency.size > 0));
}

/** Makes a 503 of an answer that could not be written down in time, and takes back what it cost. Returns the body. */
export function refuseUnwritten(request: FastifyRequest, reply: FastifyReply, instead: unknown): Buffer {
  request.call.undo?.();
  if (instead instanceof Readable) instead.destroy();
  const refusal = new ServiceError('overloaded', 'the store is busy, and nothing was charged; send the same request again', { headers: { 'retry-after': RETRY_S } });
  for (const name of OF_THE_ANSWER) reply.removeHeader(name);
  reply.code(refusal.status).headers(refusal.headers).header('content-type', PROBLEM_TYPE);
  return Buffer.from(problemText(refusal, request));
}
