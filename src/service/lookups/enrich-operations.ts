/** POST /v1/enrich and /v1/enrich/bulk, declared. */
import { LOOKUP_FIELDS } from './find-person.ts';
import type { Operation } from '../http/operation.ts';
import { ref, type Body } from '../http/body-schema.ts';
import { RECORD_FIELDS } from '../records/whole-record.ts';
import { WEBHOOK_URL } from '../webhooks/webhook-operations.ts';

const { company: _company, ...LOOKUPS } = LOOKUP_FIELDS;

/** Sets of fields that find a person or, with `domain` alone, a company. */
export const ENRICH_FORMS: readonly (readonly string[])[] = [
  ['email'],
  ['linkedin_url'],
  ['phone'],
  ['id'],
  ['name', 'domain'],
  ['domain'],
];

export const ENRICH_BODY = {
  forms: ENRICH_FORMS,
  properties: {
    ...LOOKUPS,
    min_likelihood: {
      type: 'integer',
      minimum: 0,
      maximum: 100,
      default: 0,
      description: 'A match that is less sure than this is none.',
      examples: [80],
    },
    required: {
      type: 'array',
      items: { type: 'string', enum: RECORD_FIELDS },
      maxItems: RECORD_FIELDS.length,
      description: 'A record without one of these fields is no match.',
      examples: [['title']],
    },
    fields: {
      type: 'array',
      items: { type: 'string', enum: RECORD_FIELDS },
      minItems: 1,
      maxItems: RECORD_FIELDS.length,
      description: 'Only these fields are answered.',
      examples: [['name', 'title', 'company']],
    },
    verify: {
      type: 'boolean',
      default: false,
      description: 'Asks for a fresh verdict on the address, for one more credit when there is one; waits up to 20 seconds for it.',
      examples: [true],
    },
    webhook_url: WEBHOOK_URL,
  },
} as const satisfies Body;

export const MAX_BULK = 100;
export const MAX_METADATA_DEPTH = 100;

export const BULK_BODY = {
  required: ['requests'],
  properties: {
    requests: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_BULK,
      description: 'Each is answered as if it came alone, and takes a request of the quota and a call of a trial.',
      examples: [[{ params: { id: 'pe_000002' } }]],
      items: {
        type: 'object',
        required: ['params'],
        additionalProperties: false,
        properties: {
          params: { description: 'The body that `POST /v1/enrich` takes. What is wrong with it is told in the item of the answer.' },
          metadata: { description: `Comes back as it is; it may be nested ${MAX_METADATA_DEPTH} levels deep.` },
        },
      },
    },
  },
} as const satisfies Body;

export const ENRICH: Operation = {
  id: 'enrich',
  method: 'POST',
  path: '/v1/enrich',
  tag: 'Enrichment',
  summary: 'Enrich a person or a company',
  description:
    'Give one of `email`, `linkedin_url`, `phone`, `id`, `name` with `domain`, ' +
    'or `domain` alone, which fills `company` and leaves the person `null`. ' +
    'What is not known is `null`. A hit costs one credit, a miss nothing.',
  body: { name: 'EnrichRequest', declared: ENRICH_BODY },
  answers: {
    200: {
      description: 'The person record, with `company` within it; with `fields`, those fields alone.',
      content: { 'application/json': ref('Person') },
    },
  },
  problems: ['insufficient_credits', 'no_match', 'suppressed_person'],
  examples: [
    { name: 'by_email', summary: 'By address', body: { email: 'jerome.noel@tundra-logistics.example' } },
    {
      name: 'by_name',
      summary: 'By name and domain, some fields',
      body: { name: 'Imani Irving', domain: 'cobalt-materials.example', fields: ['email', 'title', 'likelihood', 'matched_on'] },
    },
  ],
};

export const ENRICH_BULK: Operation = {
  id: 'enrichBulk',
  method: 'POST',
  path: '/v1/enrich/bulk',
  tag: 'Enrichment',
  summary: `Enrich up to ${MAX_BULK} at once`,
  description:
    'Answers 200 with one item for each request, in order, whatever became of each. The hits are charged. A key whose quota has not ' +
    'as many requests left is answered 429, and nothing is done.',
  body: { name: 'BulkEnrichRequest', declared: BULK_BODY },
  answers: { 200: { description: 'One item for each request, in order.', content: { 'application/json': ref('BulkEnrichment') } } },
  problems: ['insufficient_credits'],
  examples: [
    {
      name: 'two',
      summary: 'One that is found and one that is not',
      body: {
        requests: [
          { params: { email: 'jerome.noel@tundra-logistics.example', fields: ['name', 'title'] }, metadata: { row: 1 } },
          { params: { email: 'nobody@tundra-logistics.example' } },
        ],
      },
    },
  ],
};
