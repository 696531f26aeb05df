/** Turns whatever went wrong into the refusal that the client gets, and refunds the charge. */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isUnreadable } from '../../sqlite/system-code.ts';
import { storeDamaged } from '../accounts/store-refusals.ts';
import { problemText, sendProblem } from '../calls/api-route.ts';
import { LIMITS } from '../guards/limits.ts';
import { unsupportedType } from '../http/body-parsers.ts';
import { PROBLEM_TYPE, ServiceError } from '../http/problem.ts';
import type { ServiceLog } from '../monitoring/log.ts';
import { routeOf } from '../monitoring/meter.ts';
import type { StoreHealth } from '../monitoring/store-health.ts';

export interface RefusalDependencies {
  readonly health: Pick<StoreHealth, 'damaged'>;
  /** Null when nothing is logged. */
  readonly log: ServiceLog | null;
}

/** Refuses a request with what it threw, and refunds its charge. */
export function refuseRequest(
  { health, log }: RefusalDependencies,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const refusal = isUnreadable(error) ? storeDamaged() : toServiceError(error, request);
  request.call.charge.refuse(refusal.status);
  if (isUnreadable(error)) health.damaged(routeOf(request), error);
  else if (refusal.code === 'internal_error' && error !== refusal) reportBug(log, request, error);
  // The unread rest of a large body would have to be read before the next request on the connection.
  if (request.body === undefined && isLarge(request)) void reply.header('connection', 'close');
  return sendProblem(reply, refusal, problemText(refusal, request));
}

/** Headers of an answer that is not sent after all. */
const ANSWER_HEADERS = [
  'etag',
  'link',
  'location',
  'idempotency-replayed',
  'preference-applied',
  'content-length',
  'www-authenticate',
  'allow',
];

/**
 * Replaces an answer that could not be committed by a refusal, and refunds its charge. Returns the body to send.
 * @param payload of the answer
 */
export function refuseUncommitted(request: FastifyRequest, reply: FastifyReply, refusal: ServiceError, payload: unknown): Buffer {
  if (payload instanceof Readable) payload.destroy();
  request.call.charge.refuse(refusal.status);
  for (const name of ANSWER_HEADERS) reply.removeHeader(name);
  reply.code(refusal.status).headers(refusal.headers).header('content-type', PROBLEM_TYPE);
  return Buffer.from(problemText(refusal, request));
}

export function reportBug(log: ServiceLog | null, { call }: FastifyRequest, error: unknown): void {
  log?.write('error', { event: 'bug', request_id: call.requestId, error: error instanceof Error ? error.stack : String(error) });
}

/** Whether a body is longer than any may be, or does not declare its length. */
function isLarge({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > LIMITS.bodyBytes;
}

function toServiceError(error: unknown, request: FastifyRequest): ServiceError {
  if (error instanceof ServiceError) return error;
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new ServiceError('payload_too_large', `the body may have ${LIMITS.bodyBytes} bytes at most`);
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' || statusCode === 415) return unsupportedType(request);
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500)
    return new ServiceError('invalid_parameter', 'the request is not well-formed HTTP');
  return new ServiceError('internal_error', 'something went wrong here; the request id helps to find it');
}
