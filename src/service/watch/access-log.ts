/** One line an answer: who asked (the key's id), what for (the route), and how it went. No bodies, no paths, no queries, no addresses: they may be personal data. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { routeOf } from './meter.ts';

export function accessEntry(request: FastifyRequest, reply: FastifyReply, status: number | null, ms: number): Record<string, unknown> {
  const { call } = request;
  const length = reply.raw.getHeader('content-length');
  return {
    event: 'request',
    request_id: call.requestId,
    method: request.method,
    route: routeOf(request),
    status,
    ms: Math.round(ms * 1_000) / 1_000,
    bytes_in: call.raw.length,
    // Of a stream it is not known.
    bytes_out: length === undefined ? null : Number(length),
    key_id: call.key?.id ?? null,
    credits: call.credits,
    replayed: call.replayed,
  };
}
