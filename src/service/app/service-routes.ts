/** Routes without a key: probes and the OpenAPI document. */
import type { RouteHandlerMethod } from 'fastify';
import { JSON_TYPE } from '../calls/api-route.ts';
import { publishedDocument } from '../openapi/published.ts';
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
  // Made when it is first asked for: most who serve never do.
  let text: Buffer | undefined;
  return (_request, reply) => reply.header('content-type', JSON_TYPE).send((text ??= Buffer.from(JSON.stringify(publishedDocument()))));
}
