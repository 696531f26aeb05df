/** One line an answer: who asked (the key's id), what for (the route), and how it went. No bodies, no paths, no queries, no addresses: they may be personal data. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LEVELS, type LogLevel } from './log.ts';
import { routeOf } from './meter.ts';

/** By hand, for it is written for each request: all that is in it is the service's own and needs no escaping. @param status null: nobody was there to be answered */
export function accessLine(level: LogLevel, nowMs: number, request: FastifyRequest, reply: FastifyReply, status: number | null, ms: number): string {
  const { requestId, raw, key, credits, replayed } = request.call;
  // Of a stream the length is not known.
  const length = reply.getHeader('content-length');
  return (
    `{"level":${LEVELS[level]},"time":"${timeOf(nowMs)}","event":"request","request_id":"${requestId}","method":"${request.method}","route":"${routeOf(request)}","status":${status},` +
    `"ms":${Math.round(ms * 1_000) / 1_000},"bytes_in":${raw.length},"bytes_out":${length === undefined ? null : Number(length)},"key_id":${key === null ? null : `"${key.id}"`},"credits":${credits},"replayed":${replayed}}\n`
  );
}

let lastMs = Number.NaN;
let lastText = '';

/** Many lines are of one millisecond. */
function timeOf(nowMs: number): string {
  if (nowMs !== lastMs) {
    lastMs = nowMs;
    lastText = new Date(nowMs).toISOString();
  }
  return lastText;
}
