/** The examples of the declarations whose answers are published, as requests. Pure. */
import { OPERATIONS } from './operations.ts';
import { exampleId } from './document.ts';
import type { Operation } from '../http/operation.ts';

export interface ExampleRequest {
  /** Names of operation and example. */
  readonly id: string;
  readonly operation: Operation;
  readonly summary: string;
  /** Path and query. */
  readonly url: string;
  readonly body: unknown;
}

export function exampleRequests(): ExampleRequest[] {
  return OPERATIONS.flatMap((operation) =>
    (operation.examples ?? []).flatMap(({ name, summary, path = {}, query = {}, body, varies }) => {
      if (varies === true) return [];
      const search = new URLSearchParams(query).toString();
      const filled = operation.path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => encodeURIComponent(path[parameter] ?? ''));
      return { id: exampleId(operation.id, name), operation, summary, url: search === '' ? filled : `${filled}?${search}`, body };
    }),
  );
}
