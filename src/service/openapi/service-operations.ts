/** Operations without a key, declared: probes and the reference. */
import type { Operation } from '../http/operation.ts';
import { ref } from '../http/body-schema.ts';

const open = { method: 'GET', tag: 'Operation', open: true, problems: [] } as const;

export const HEALTH: Operation = {
  ...open,
  id: 'getHealth',
  path: '/healthz',
  summary: 'Whether it lives',
  description: 'Answers as long as the process does.',
  answers: { 200: { description: 'It lives.', content: { 'application/json': ref('Health') } } },
};

export const READINESS: Operation = {
  ...open,
  id: 'getReadiness',
  path: '/readyz',
  summary: 'Whether it can answer',
  description:
    'Whether the store can be read and written. `degraded` comes with 200: some records are damaged, and all others are answered.',
  answers: {
    200: { description: 'It can.', content: { 'application/json': ref('Health') } },
    503: { description: 'It cannot; send it no requests.', content: { 'application/json': ref('Health') } },
  },
};

export const OPENAPI: Operation = {
  ...open,
  id: 'getOpenApi',
  path: '/openapi.json',
  summary: 'This description',
  description: 'OpenAPI 3.1, made from the declarations that requests are validated by.',
  answers: { 200: { description: 'The document.', content: { 'application/json': { type: 'object' } } } },
};

export const REFERENCE: Operation = {
  ...open,
  id: 'getReference',
  path: '/docs',
  summary: 'The reference as a page',
  description: 'For browsers, with examples in every client library. It loads nothing from elsewhere.',
  answers: { 200: { description: 'The page.', content: { 'text/html; charset=utf-8': { type: 'string' } } } },
};
