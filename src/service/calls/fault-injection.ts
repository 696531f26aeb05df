/** Fault injection: switches that make the service slow or flaky, to test a client against it. Deterministic by seed. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../http/problem.ts';

/** Rates are shares of all API requests, 0 to 1, drawn independently for each request in order of arrival. */
export interface Faults {
  /** Added to every answer, milliseconds. */
  latencyMs: number;
  /** Up to this much more, evenly spread, milliseconds. */
  latencyJitterMs: number;
  /** Answered 500 without doing the work. */
  errorRate: number;
  /** Answered 429 although there is quota. */
  throttleRate: number;
  /** Connection cut: one half before the work is done, one half after it (done and charged, but never heard of). */
  dropRate: number;
  /** Never answered; the connection stays open until a side closes it. */
  hangRate: number;
  seed: number;
}

const NO_FAULTS: Readonly<Faults> = {
  latencyMs: 0,
  latencyJitterMs: 0,
  errorRate: 0,
  throttleRate: 0,
  dropRate: 0,
  hangRate: 0,
  seed: 1,
};

/** The fault of one request. */
export interface InjectedFault {
  readonly kind: 'none' | 'error' | 'throttle' | 'drop_before' | 'drop_after' | 'hang';
  readonly delayMs: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until the hook in `app/app.ts` draws one; always null without fault injection. */
    fault: InjectedFault | null;
  }
}

const NO_FAULT: InjectedFault = { kind: 'none', delayMs: 0 };

/** Draws a fault for each request in turn; null without fault injection. The same options always give the same sequence. */
export function faultSequence(options: Partial<Faults>): (() => InjectedFault) | null {
  const faults: Faults = { ...NO_FAULTS, ...options };
  const rates = [faults.errorRate, faults.throttleRate, faults.dropRate, faults.hangRate];
  if (rates.every((rate) => rate <= 0) && faults.latencyMs <= 0 && faults.latencyJitterMs <= 0) return null;
  const random = seeded(faults.seed);
  return () => {
    // Always five draws: a changed rate leaves the faults of the other rates where they were.
    const [error, throttle, drop, hang, jitter] = [random(), random(), random(), random(), random()];
    const delayMs = Math.max(0, faults.latencyMs + jitter * faults.latencyJitterMs);
    if (drop < faults.dropRate) return { kind: drop < faults.dropRate / 2 ? 'drop_before' : 'drop_after', delayMs };
    if (hang < faults.hangRate) return { kind: 'hang', delayMs };
    if (throttle < faults.throttleRate) return { kind: 'throttle', delayMs };
    if (error < faults.errorRate) return { kind: 'error', delayMs };
    return delayMs === 0 ? NO_FAULT : { kind: 'none', delayMs };
  };
}

/**
 * Applies the fault of a request before its work; `drop_after` is applied when its answer is sent (`calls/api-route.ts`).
 * @param hold keeps a connection that is never answered
 * @throws ServiceError for an error or a throttled answer
 */
export async function applyFault(request: FastifyRequest, reply: FastifyReply, hold: (socket: Socket) => void): Promise<void> {
  const { fault } = request;
  if (fault === null) return;
  // Without a reference the timer does not keep a process from ending.
  if (fault.delayMs > 0) await sleep(fault.delayMs, undefined, { ref: false });
  switch (fault.kind) {
    case 'none':
    case 'drop_after':
      return;
    case 'error':
      throw new ServiceError('internal_error', 'a fault that was asked for');
    case 'throttle':
      throw new ServiceError('rate_limited', 'a fault that was asked for', { headers: { 'retry-after': '1' } });
    // Fastify does nothing more for a hijacked reply.
    case 'drop_before':
      reply.hijack();
      request.raw.socket.destroy();
      return;
    case 'hang':
      reply.hijack();
      hold(request.raw.socket);
      return;
    default:
      fault.kind satisfies never;
  }
}

/** Numbers in [0, 1), evenly spread: a 32-bit counter by the golden ratio, its bits mixed as MurmurHash3 finishes. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
    return ((x ^ (x >>> 16)) >>> 0) / 0x1_0000_0000;
  };
}
