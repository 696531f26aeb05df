/** Follows every request from its headers to its end: counted, logged, and admitted only while there is room. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LoadGate, ShedReason } from '../guards/load-gate.ts';
import type { Limits } from '../guards/limits.ts';
import { ServiceError } from '../http/problem.ts';
import { accessLine } from './access-log.ts';
import type { ServiceLog } from './log.ts';
import type { ServiceMeter } from './meter.ts';

export interface FollowDependencies {
  readonly gate: LoadGate;
  readonly meter: ServiceMeter;
  readonly limits: Pick<Limits, 'headers' | 'headerBytes'>;
  /** Null when nothing is logged. */
  readonly log: ServiceLog | null;
  /** Monotonic, milliseconds. */
  readonly clock: () => number;
  /** Wall clock, epoch milliseconds. */
  readonly now: () => number;
}

/** The `Retry-After` of a request that was shed, seconds. */
const RETRY_S = '1';

/** Follows a request until its connection is done with it. */
export function follow({ gate, meter, log, clock, now }: FollowDependencies, request: FastifyRequest, reply: FastifyReply): void {
  reply.raw.once('close', () => {
    const { call } = request;
    gate.leave(call);
    const status = reply.raw.headersSent ? reply.raw.statusCode : null;
    const ms = clock() - call.startedMs;
    meter.answered(request, status, ms);
    // Probes come every few seconds, and would fill the log.
    const level = call.charge.key === null && status === 200 ? 'debug' : 'info';
    if (log?.takes(level) === true) log.line(accessLine(level, now(), request, reply, status, ms));
  });
}

/** Admits a request. @throws ServiceError when there is no room, or it has too many headers */
export function letIn({ gate, meter, limits }: FollowDependencies, { call, raw }: FastifyRequest): void {
  const refusal = gate.enter(call, call.startedMs);
  if (refusal !== null) throw shed(meter, refusal);
  if (raw.rawHeaders.length > 2 * limits.headers)
    throw new ServiceError(
      'headers_too_large',
      `there may be ${limits.headers} headers at most, of ${limits.headerBytes} bytes together with the path and query`,
    );
}

/** Queues an admitted request that was read. `done` is called at its turn, with an error when there is no time for it. */
export function lineUp({ gate, meter }: FollowDependencies, done: (error?: Error) => void): void {
  gate.stand((refusal) => (refusal === null ? done() : done(shed(meter, refusal))));
}

function shed(meter: ServiceMeter, refusal: ShedReason): ServiceError {
  meter.shed[refusal]++;
  return new ServiceError('overloaded', 'the service has more requests than it can answer in time', {
    headers: { 'retry-after': RETRY_S },
  });
}
