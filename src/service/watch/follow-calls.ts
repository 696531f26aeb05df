/** Every request from its headers to its end: counted, logged, and let in only while there is room. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Call, ServiceContext } from '../context.ts';
import { ServiceError } from '../errors.ts';
import type { Refusal } from '../guard/load-gate.ts';
import { accessLine } from './access-log.ts';

type Parts = Pick<ServiceContext, 'gate' | 'meter' | 'limits' | 'log' | 'clock' | 'now'>;

/** Seconds after which it may be better. */
const RETRY_S = '1';

/** Follows a request until its connection is done with it. */
export function follow({ gate, meter, log, clock, now }: Parts, request: FastifyRequest, reply: FastifyReply): void {
  reply.raw.once('close', () => {
    const { call } = request;
    leave(gate, call);
    const status = reply.raw.headersSent ? reply.raw.statusCode : null;
    const ms = clock() - call.startedMs;
    meter.answered(request, status, ms);
    // Probes come every few seconds for ever.
    const level = call.key === null && status === 200 ? 'debug' : 'info';
    if (log?.takes(level) === true) log.line(accessLine(level, now(), request, reply, status, ms));
  });
}

/** Lets a request in. @throws ServiceError when there is no room, or it has too many headers */
export function letIn({ gate, meter, limits }: Parts, request: FastifyRequest): void {
  const refusal = gate.enter(request.call.startedMs);
  if (refusal !== null) throw shed(meter, refusal);
  request.call.admitted = true;
  if (request.raw.rawHeaders.length > 2 * limits.headers) throw new ServiceError('headers_too_large', `there may be ${limits.headers} headers at most, of ${limits.headerBytes} bytes together with the path and query`);
}

/** Has a request that is read and let in wait for its turn; then `done` is called, with an error when there is no time for it. */
export function lineUp({ gate, meter }: Parts, done: (error?: Error) => void): void {
  gate.stand((refusal) => (refusal === null ? done() : done(shed(meter, refusal))));
}

function shed(meter: ServiceContext['meter'], refusal: Refusal): ServiceError {
  meter.shed[refusal]++;
  return new ServiceError('overloaded', 'the service has more requests than it can answer in time', { headers: { 'retry-after': RETRY_S } });
}

/** Makes room for another request; also to be called for one that goes on as a stream. */
export function leave(gate: ServiceContext['gate'], call: Call): void {
  if (!call.admitted) return;
  call.admitted = false;
  gate.leave();
}
