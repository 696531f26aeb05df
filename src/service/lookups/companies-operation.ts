/** GET /v1/companies/{domain}, declared. */
import type { Operation } from '../http/operation.ts';
import { ref } from '../http/body-schema.ts';

export const GET_COMPANY: Operation = {
  id: 'getCompany',
  method: 'GET',
  path: '/v1/companies/{domain}',
  tag: 'Companies',
  summary: 'A company by its domain',
  description: "Scheme, `www.` and case do not matter; a host below a company's domain finds the company. A hit costs one credit.",
  inPath: {
    domain: {
      description: 'A domain, or a URL (percent-encoded) in its place.',
      schema: { type: 'string' },
      example: 'tundra-logistics.example',
    },
  },
  headers: {
    'If-None-Match': {
      description: 'An `ETag` of before: a record that is still the same is neither sent again nor charged.',
      schema: { type: 'string' },
    },
  },
  answers: {
    200: {
      description: 'The whole company record, with its newest signals.',
      content: { 'application/json': ref('Company') },
      headers: ['ETag'],
    },
    304: { description: 'It is as it was.', headers: ['ETag'] },
  },
  problems: ['insufficient_credits', 'no_match', 'not_found'],
  examples: [{ name: 'company', summary: 'A company', path: { domain: 'cobalt-materials.example' } }],
};
