/** POST /v1/graphql. graphql-js is loaded with the first request: that takes a tenth of a second, and most services never get one. */
import type { FastifyRequest } from 'fastify';
import { accepted } from '../http/accept-header.ts';
import { JSON_TYPE } from '../calls/api-route.ts';
import type { Endpoint } from '../calls/endpoint.ts';
import { GRAPHQL_TYPE } from '../openapi/graphql-operation.ts';
import type { GraphqlDependencies } from './calls.ts';

export function graphqlEndpoint(dependencies: GraphqlDependencies): Endpoint {
  return async (_body, request) => {
    const { answer } = await import('./answer.ts');
    return answer(dependencies, request, wantsOwnType(request));
  };
}

/** The media type of the answer to a request. */
export function graphqlType(request: FastifyRequest): string {
  return wantsOwnType(request) ? `${GRAPHQL_TYPE}; charset=utf-8` : JSON_TYPE;
}

/** Whether a client accepts the media type of GraphQL. */
function wantsOwnType({ headers }: FastifyRequest): boolean {
  return accepted(headers.accept, [GRAPHQL_TYPE], 'application/json') !== null;
}
