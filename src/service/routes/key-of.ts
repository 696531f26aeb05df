import type { FastifyRequest } from 'fastify';
import type { ActiveKey } from '../key-ring.ts';

/** The id of the key whose a request is; of a route that is not open. */
export function keyOf({ call }: FastifyRequest): string {
  return (call.key as ActiveKey).id;
}
