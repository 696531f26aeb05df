/** Fragments of the reference before Scalar, so that saved links still lead to their places. Pure. */
import { ERRORS } from '../http/problem.ts';
import type { OpenApiDocument } from '../openapi/document.ts';

/** By former fragment, without `#`: the one of today. */
export function formerAnchors(document: OpenApiDocument): Readonly<Record<string, string>> {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  return {
    events: 'tag/Webhooks',
    headers: 'description/headers',
    errors: 'description/errors',
    records: 'models',
    ...Object.fromEntries(
      operations.map(({ operationId, tags }) => [String(operationId), `tag/${[tags].flat().join()}/${String(operationId)}`]),
    ),
    ...Object.fromEntries(Object.keys(document.components['schemas'] ?? {}).map((name) => [name, `models/${name}`])),
    ...Object.fromEntries(Object.entries(ERRORS).map(([code, { title }]) => [`error-${code}`, `description/${slug(title)}`])),
  };
}

/** The fragment of a heading, as Scalar makes it. */
function slug(title: string): string {
  return title.toLowerCase().replaceAll(' ', '-');
}
