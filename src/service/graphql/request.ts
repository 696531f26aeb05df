/** Reads the body of a request for GraphQL. Pure. */
import { nearest } from '../../util/nearest.ts';
import { GRAPHQL_PROPERTIES } from '../openapi/graphql-operation.ts';
import { RequestFindings } from '../http/findings.ts';
import { isObject } from '../../util/is-object.ts';

export interface GraphqlRequest {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly operationName: string | null;
}

/** @throws ServiceError with all that is wrong with it */
export function readRequest(body: unknown): GraphqlRequest {
  const findings = new RequestFindings('body');
  if (!isObject(body)) {
    findings.add('', 'type', 'the body must be a JSON object');
    throw findings.refusal();
  }
  const known = Object.keys(GRAPHQL_PROPERTIES);
  for (const name of Object.keys(body)) {
    if (findings.full) break;
    if (known.includes(name)) continue;
    const near = nearest(name, known);
    findings.add(
      name,
      'unknown_field',
      `unknown field ${JSON.stringify(name.slice(0, 64))}; ${near === null ? `known are ${known.join(', ')}` : `did you mean ${near}?`}`,
    );
  }
  const { query, variables, operationName, extensions } = body;
  if (query === undefined || query === null) findings.add('query', 'required', 'give query: the document');
  else if (typeof query !== 'string') findings.add('query', 'type', 'query must be a string');
  if (operationName !== undefined && operationName !== null && typeof operationName !== 'string')
    findings.add('operationName', 'type', 'operationName must be a string');
  for (const [name, value] of Object.entries({ variables, extensions }))
    if (value !== undefined && value !== null && !isObject(value)) findings.add(name, 'type', `${name} must be an object`);
  findings.finish();
  // `finish` has thrown unless each is as it should be.
  return {
    query: query as string,
    variables: (variables ?? {}) as GraphqlRequest['variables'],
    operationName: (operationName ?? null) as string | null,
  };
}
