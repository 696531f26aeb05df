/** POST /v1/graphql, declared. */
import { LOOKUP_FIELDS } from '../lookups/find-person.ts';
import type { Operation } from '../http/operation.ts';
import { ref, type Body, type Schema } from '../http/body-schema.ts';
import { MAX_BULK } from '../lookups/enrich-operations.ts';

export const GRAPHQL_TYPE = 'application/graphql-response+json';

/** Limits of a GraphQL document. */
export const GRAPHQL_LIMITS = {
  /** Characters of it. */
  length: 100_000,
  tokens: 5_000,
  /** Brackets within each other. */
  nesting: 32,
  /** Fields within each other. */
  depth: 16,
  /** Fields at the top, each of which is a call. */
  calls: MAX_BULK,
  /** Characters of what all calls are given, as JSON: a variable counts as often as it is used. */
  given: 1_000_000,
  /** Fields of all rows that may come back. */
  cost: 50_000,
} as const;

/** The fields that find one contact: those that a search shows, and the id that it answers. */
export const CONTACT_BODY = {
  forms: [['id'], ['linkedin_url']],
  properties: { id: LOOKUP_FIELDS.id, linkedin_url: LOOKUP_FIELDS.linkedin_url },
} as const satisfies Body;

const OBJECT = ['object', 'null'];

export const GRAPHQL_PROPERTIES: Readonly<Record<string, Schema>> = {
  query: {
    type: 'string',
    maxLength: GRAPHQL_LIMITS.length,
    description:
      `The document, of ${GRAPHQL_LIMITS.length.toLocaleString('en')} characters ` +
      `and ${GRAPHQL_LIMITS.tokens.toLocaleString('en')} tokens at most.`,
    examples: ['{ company(domain: "cobalt-materials.example") { name employees } }'],
  },
  variables: { type: OBJECT, description: 'Values of its variables, by name.', examples: [{}] },
  operationName: { type: ['string', 'null'], description: 'Which of its operations is meant, where it has several.', examples: [null] },
  extensions: { type: OBJECT, description: 'Taken, and not looked at.', examples: [{}] },
};

const BODY: Schema = { type: 'object', required: ['query'], properties: GRAPHQL_PROPERTIES, additionalProperties: false };

const ERROR: Schema = {
  type: 'object',
  required: ['message', 'extensions'],
  properties: {
    message: { type: 'string', description: 'What happened, for who reads it.' },
    locations: {
      type: 'array',
      items: { type: 'object', required: ['line', 'column'], properties: { line: { type: 'integer' }, column: { type: 'integer' } } },
    },
    path: { type: 'array', items: { type: ['string', 'integer'] }, description: 'The field that has come to nothing.' },
    extensions: { ...ref('Problem'), description: 'As REST says it. Its `errors` point into the arguments of the field.' },
  },
};

export const GRAPHQL_RESPONSE: Schema = {
  type: 'object',
  description: 'What was asked for, and what of it there is none. Without `data`, nothing was done.',
  properties: {
    data: { type: OBJECT, description: 'By the names in the document.' },
    errors: { type: 'array', minItems: 1, items: ERROR },
  },
};

export const GRAPHQL: Operation = {
  id: 'graphql',
  method: 'POST',
  path: '/v1/graphql',
  tag: 'GraphQL',
  summary: 'Several calls at once, and of each the fields that are wanted',
  description:
    'Queries `contacts`, `contact`, `company`, `signals`; mutations `enrich`, `reveal`, `verifyEmails`. Each field at the top is ' +
    'answered and charged as the call of REST that it is, and takes a request of the quota and a call of a trial. ' +
    `There may be ${GRAPHQL_LIMITS.calls} of them. The units of all searches together are paid for as those of one search. ` +
    'Below the top each field is ' +
    'asked for once, whatever it is called. Introspection shows the schema.',
  headers: {
    Accept: {
      description: `\`${GRAPHQL_TYPE}\`: what is refused as a whole is 400 then, and not 200.`,
      schema: { type: 'string' },
      example: GRAPHQL_TYPE,
    },
  },
  body: { name: 'GraphQLRequest', schema: BODY },
  answers: {
    200: {
      description: 'What became of it; see `errors`.',
      content: { 'application/json': ref('GraphQLResponse'), [GRAPHQL_TYPE]: ref('GraphQLResponse') },
      headers: ['X-Search-Units'],
    },
    400: {
      description: 'The document is none, or asks for what there is not, or for too much.',
      content: { [GRAPHQL_TYPE]: ref('GraphQLResponse') },
    },
  },
  problems: ['insufficient_credits'],
  examples: [
    {
      name: 'company',
      summary: 'Two fields of a company',
      body: { query: '{ company(domain: "cobalt-materials.example") { name employees } }' },
    },
    {
      name: 'search',
      summary: 'A page of a search',
      body: {
        query:
          '{ contacts(filter: {title: ["director"], headcount: ["50-500"]}, first: 1) { totalCount edges { node { id name title ' +
          'company { name } } } pageInfo { endCursor } } }',
      },
    },
    {
      name: 'several',
      summary: 'Two companies, one of which is not known',
      body: {
        query: 'query ($domain: String!) { a: company(domain: $domain) { name employees } b: company(domain: "nobody.example") { name } }',
        variables: { domain: 'cobalt-materials.example' },
      },
    },
  ],
};
