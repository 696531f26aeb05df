/** The operations of the service's description, and which of them a request is. */
import { publishedDocument } from '../../src/service/openapi/published.ts';

/** The page for people is no call of a library. */
const NO_CALL = 'getReference';

const paths = publishedDocument().paths as Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;

const OPERATIONS = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId }]) => ({
    id: operationId,
    method: method.toUpperCase(),
    path: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  })),
);

/** Ids of all operations that a library must have. */
export function operationIds(): string[] {
  return OPERATIONS.map(({ id }) => id).filter((id) => id !== NO_CALL);
}

/** The id of the operation that a request is for. @param path without a query */
export function operationOf(method: string, path: string): string | undefined {
  return OPERATIONS.find((operation) => operation.method === method && operation.path.test(path))?.id;
}
