/** Errors as GraphQL has them: those of REST, with all that a problem says in `extensions`. Pure. */
import { GraphQLError } from 'graphql';
import { problem, ServiceError } from '../http/problem.ts';
import { GRAPHQL } from '../openapi/graphql-operation.ts';

/** A client's own words may be in it, as many as it likes. */
const MAX_MESSAGE = 500;

/** The request is refused as a whole, before anything is done. */
export class GraphqlRefusal extends Error {
  override readonly name = 'Refusal';
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super(errors[0]?.message ?? '');
    this.errors = errors;
  }
}

/** Refuses a document for what it is. @param code says what is wrong with it, for programs */
export function graphqlRefusal(code: string, detail: string): GraphqlRefusal {
  return new GraphqlRefusal([new GraphQLError(detail, { extensions: { wrong: code } })]);
}

/** The extensions of an error: the members of the problem document that REST would send. */
export function extensionsOf({ code, message, errors }: ServiceError, requestId: string): Record<string, unknown> {
  return JSON.parse(problem(code, message, GRAPHQL.path, requestId, errors)) as Record<string, unknown>;
}

/** The answer to a request that is refused as a whole. */
export function refusalText({ errors }: GraphqlRefusal, requestId: string): string {
  const told = errors.map((error) => {
    const message = error.message.slice(0, MAX_MESSAGE);
    const code = (error.extensions['wrong'] as string | undefined) ?? 'invalid_document';
    const { locations } = error;
    return {
      message,
      ...(locations === undefined ? {} : { locations }),
      extensions: extensionsOf(
        new ServiceError('validation_failed', message, { errors: [{ pointer: '/query', code, detail: message }] }),
        requestId,
      ),
    };
  });
  return JSON.stringify({ errors: told });
}
