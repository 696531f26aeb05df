/** What needs no key: whether the service lives, and its description. */
import type { RouteHandlerMethod } from 'fastify';
import { JSON_TYPE } from '../api-route.ts';
import { publishedDocument } from '../openapi/published.ts';
import { PAGE_POLICY, referencePage } from '../openapi/page/reference-page.ts';

export function health(isWell: () => boolean): RouteHandlerMethod {
  return (_request, reply) => {
    const well = isWell();
    return reply.code(well ? 200 : 503).header('content-type', JSON_TYPE).send(well ? '{"status":"ok"}' : '{"status":"unavailable"}');
  };
}

export function openApi(): RouteHandlerMethod {
  const text = once(() => Buffer.from(JSON.stringify(publishedDocument())));
  return (_request, reply) => reply.header('content-type', JSON_TYPE).send(text());
}

export function reference(): RouteHandlerMethod {
  const page = once(() => Buffer.from(referencePage(publishedDocument())));
  return (_request, reply) => reply.headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PAGE_POLICY, 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }).send(page());
}

/** Made when it is first asked for: most who serve never do. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
