/**
 * The access log: one line an answer, with the id of the key, the route and the outcome. Bodies, paths, queries and addresses may be
 * personal data and are left out.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LEVELS, type LogLevel } from './log.ts';
import { routeOf } from './meter.ts';

/**
 * Built by hand, because every request writes one. All values are the service's own and need no escaping.
 * @param status null when the client went away before the answer
 */
export function accessLine(
  level: LogLevel,
  nowMs: number,
  request: FastifyRequest,
  reply: FastifyReply,
  status: number | null,
  ms: number,
): string {
  const { requestId, charge } = request.call;
  const { key, credits, isReplay } = charge;
  // A stream has no known length.
  const length = reply.getHeader('content-length');
  return (
    `{"level":${LEVELS[level]},"time":"${timeOf(nowMs)}","event":"request","request_id":"${requestId}",` +
    `"method":"${request.method}","route":"${routeOf(request)}","status":${status},` +
    `"ms":${Math.round(ms * 1_000) / 1_000},"bytes_in":${request.rawBody?.length ?? 0},` +
    `"bytes_out":${length === undefined ? null : Number(length)},` +
    `"key_id":${key === null ? null : `"${key.id}"`},"credits":${credits},"replayed":${isReplay}}\n`
  );
}

let lastMs = Number.NaN;
let lastText = '';

/** Many lines share a millisecond, so its text is cached. */
function timeOf(nowMs: number): string {
  if (nowMs !== lastMs) {
    lastMs = nowMs;
    lastText = new Date(nowMs).toISOString();
  }
  return lastText;
}
