/** Routes without a key: probes, the OpenAPI document and the reference page. */
import type { RouteHandlerMethod } from 'fastify';
import { JSON_TYPE } from '../calls/api-route.ts';
import { publishedDocument } from '../openapi/published.ts';
import { PAGE_POLICY, referencePage } from '../openapi/page/reference-page.ts';
import type { Readiness } from '../monitoring/store-health.ts';

export function health(): RouteHandlerMethod {
  return (_request, reply) => reply.header('content-type', JSON_TYPE).send('{"status":"ok"}');
}

export function readinessRoute(look: () => Readiness): RouteHandlerMethod {
  return (_request, reply) => {
    const { ready, status, reason, detail } = look();
    return reply
      .code(ready ? 200 : 503)
      .header('content-type', JSON_TYPE)
      .send(JSON.stringify(reason === null ? { status } : { status, reason, detail }));
  };
}

export function openApi(): RouteHandlerMethod {
  const text = once(() => Buffer.from(JSON.stringify(publishedDocument())));
  return (_request, reply) => reply.header('content-type', JSON_TYPE).send(text());
}

export function reference(): RouteHandlerMethod {
  const page = once(() => Buffer.from(referencePage(publishedDocument())));
  return (_request, reply) =>
    reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': PAGE_POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      .send(page());
}

/** Made when it is first asked for: most who serve never do. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
