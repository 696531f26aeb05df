/** One request: its facts, and its charge. Types only. */
import type { Charge } from './charging.ts';

export interface ServiceCall {
  readonly requestId: string;
  /** Monotonic, milliseconds. */
  readonly startedMs: number;
  readonly charge: Charge;
}

declare module 'fastify' {
  interface FastifyRequest {
    call: ServiceCall;
  }
}
