/** Changes of webhooks that are asked for by POST: the change and what is kept of its answer for an Idempotency-Key are in the store together, or neither is. */
import type { FastifyRequest } from 'fastify';
import type { Answer, ServiceContext } from '../context.ts';

/** Resolves with the answer of `change` once both are in the store. @throws what `change` refuses with, and ServiceError when the store would not take it in time, or another service has done it for the same Idempotency-Key */
export function answeredChange({ writes }: ServiceContext['webhooks'], { call }: FastifyRequest, change: () => Answer): Promise<Answer> {
  return writes.write(() => {
    const answer = change();
    call.keep?.(answer);
    return answer;
  });
}
