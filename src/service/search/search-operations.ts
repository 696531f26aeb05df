/** GET and POST /v1/contacts/search as declared operations: the filters are parameters, beside some options. */
import type { Operation, Parameter, Parameters } from '../http/operation.ts';
import { ref, type Schema } from '../http/body-schema.ts';
import { FLAG } from '../records/filter-value.ts';
import { FILTERS } from './filters.ts';
import { SORTS } from '../store/index/sort-keys.ts';
import { CURSOR, limitParameter } from '../http/paging.ts';
import { ROW_FIELDS } from '../records/schemas/contact-schema.ts';

/** Values of a filter that looks up keys, such as `domain`. */
export const MAX_KEYS = 1_000;
/** Values of all other filters together: a range reads some tens of posting lists. */
export const MAX_VALUES = 200;
/** Units of work that are one request of the quota: about a fiftieth of a second. */
export const UNITS_A_REQUEST = 2_000;
export const SEARCH_LIMIT = limitParameter(25, 100);

const SORT_NAMES = SORTS.flatMap((name) => [name, `-${name}`]);

const OPTIONS: Parameters = {
  limit: SEARCH_LIMIT,
  cursor: CURSOR,
  sort: {
    description:
      '`relevance` puts first the contacts who can surely be reached, then those with the most fields. ' +
      'A leading `-` reverses an order. The id breaks ties.',
    schema: { type: 'string', enum: SORT_NAMES, default: 'relevance' },
    example: '-updated_at',
  },
  fields: {
    description: 'Only these fields are answered.',
    schema: { type: 'string', enum: ROW_FIELDS },
    most: ROW_FIELDS.length,
    divided: true,
    example: 'id,name,title',
  },
};

function filterParameters(): Parameters {
  return Object.fromEntries(
    Object.entries(FILTERS).map(([name, { takes, many, most, single, divided, description, example }]): [string, Parameter] => {
      return [
        name,
        {
          description,
          schema: takes,
          ...(single === true ? {} : { most: most ?? (many === true ? MAX_KEYS : MAX_VALUES) }),
          divided,
          example,
        },
      ];
    }),
  );
}

/** All parameters of a search. */
export const SEARCH_PARAMETERS: Parameters = { ...filterParameters(), ...OPTIONS };

/** The same names for a JSON body: lists are arrays; numbers and flags may be text. */
function searchBody(): Schema {
  const properties = Object.entries(SEARCH_PARAMETERS).map(([name, { description, schema, most, divided, example }]) => {
    const value = bare(schema);
    return [
      name,
      {
        description,
        ...(most === undefined
          ? { anyOf: [value, { type: 'null' }] }
          : { anyOf: [value, { type: 'array', items: value, maxItems: most }, { type: 'null' }] }),
        examples: [divided === true && typeof example === 'string' && example.includes(',') ? example.split(',') : example],
      },
    ] as const;
  });
  return { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false };
}

function bare(schema: Schema): Schema {
  if (schema === FLAG) return { enum: [true, false, 'true', 'false'] };
  if (schema['type'] === 'integer') return { ...schema, type: 'integer' };
  return schema['enum'] === undefined ? { ...schema, type: ['string', 'number', 'boolean'] } : schema;
}

const DESCRIPTION =
  "One of a filter's values must be met, and all filters; `exclude_*` leave out who meets them. Ranges " +
  'are `min-max`, `min-` or `-max`, with K, M and B for thousands, millions and billions. Of words, a ' +
  'value has 20 at the most; all filters together have 200 values, but for keys such as `domain`. ' +
  'Addresses and numbers are not shown: that is `POST /v1/contacts/reveal`. A search costs no credits. ' +
  `The answer says its work in units; each ${UNITS_A_REQUEST.toLocaleString('en')} of them are one request of the quota.`;

const ANSWERS: Operation['answers'] = {
  200: { description: 'A page of contacts.', content: { 'application/json': ref('ContactPage') }, headers: ['X-Search-Units'] },
};

export const SEARCH: Operation = {
  id: 'searchContacts',
  method: 'GET',
  path: '/v1/contacts/search',
  tag: 'Contacts',
  summary: 'Search contacts',
  description: `${DESCRIPTION} Repeat a parameter for more values, or write commas between them where it is an array.`,
  query: SEARCH_PARAMETERS,
  answers: {
    200: { description: 'A page of contacts.', content: { 'application/json': ref('ContactPage') }, headers: ['Link', 'X-Search-Units'] },
  },
  problems: ['insufficient_credits'],
  examples: [
    { name: 'directors', summary: 'Directors at companies of 50 to 500', query: { title: 'director', headcount: '50-500', limit: '1' } },
    {
      name: 'specification',
      summary: 'Of the specification, some fields',
      query: { title: 'engineer', country: 'DE', headcount: '1-1000', fields: 'id,name,title,has_email', limit: '2' },
    },
  ],
};

export const SEARCH_BY_BODY: Operation = {
  id: 'searchContactsByBody',
  method: 'POST',
  path: '/v1/contacts/search',
  tag: 'Contacts',
  summary: 'Search contacts with long lists',
  description: `${DESCRIPTION} The names are those of the query, lists are arrays; an empty one is as if it were not there.`,
  body: { name: 'SearchRequest', schema: searchBody() },
  answers: ANSWERS,
  problems: ['insufficient_credits'],
  examples: [
    {
      name: 'domains',
      summary: 'At these companies',
      body: {
        domain: ['cobalt-materials.example', 'tundra-logistics.example'],
        has_email: true,
        fields: ['id', 'name', 'title'],
        limit: 2,
      },
    },
  ],
};
