/** POST /v1/graphql. What it needs is loaded with the first request: most who serve never have one, and it takes a tenth of a second. */
import type { FastifyRequest } from 'fastify';
import { accepted } from '../accepted.ts';
import { JSON_TYPE } from '../api-route.ts';
import type { Endpoint, ServiceContext } from '../context.ts';
import { GRAPHQL_TYPE } from '../operations/graphql.ts';

export function graphqlEndpoint(context: ServiceContext): Endpoint {
  return async (_body, request) => {
    const { answer } = await import('./answer.ts');
    return answer(context, request, wantsOwnType(request));
  };
}

/** In which type a request is answered. */
export function graphqlType(request: FastifyRequest): string {
  return wantsOwnType(request) ? `${GRAPHQL_TYPE}; charset=utf-8` : JSON_TYPE;
}

/** Whether a client takes the type that is GraphQL's own. */
function wantsOwnType({ headers }: FastifyRequest): boolean {
  return accepted(headers.accept, [GRAPHQL_TYPE], 'application/json') !== null;
}
