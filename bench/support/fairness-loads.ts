/** The kinds of load beside which `bench/fairness.ts` measures everybody else. */
import {
  getIntrospectionQuery,
  getNamedType,
  isListType,
  isNullableType,
  isObjectType,
  OperationTypeNode,
  parse,
  type GraphQLObjectType,
} from 'graphql';
import { CULTURES } from '../../fixtures/generate/cultures.ts';
import { seeded } from '../../fixtures/generate/random.ts';
import { buildSchema } from '../../src/service/graphql/graphql-schema.ts';
import { planOf } from '../../src/service/graphql/plan.ts';
import { GRAPHQL_LIMITS } from '../../src/service/openapi/graphql-operation.ts';
import type { EndlessPlan } from './endless-load.ts';

export interface Kind {
  readonly name: string;
  /** Arguments of a command of Millrace that runs over and over meanwhile. STORE is the path of the store. */
  readonly command?: readonly string[];
  /** The operation of a batch job that runs meanwhile. */
  readonly job?: 'enrich' | 'verify';
  readonly plan: Omit<EndlessPlan, 'url' | 'keys' | 'headers' | 'bodies'> & Partial<Pick<EndlessPlan, 'headers' | 'bodies'>>;
}

const JSON_BODY = { 'content-type': 'application/json' };
const MEGABYTE = 1_048_576;
/** Circles of one search, and their radius in km. */
const [CIRCLES, RADIUS_KM] = [10, 50];

/** Next to no load. */
const QUIET: Kind['plan'] = { method: 'GET', paths: ['/healthz'], connections: 1, rate: 1 };

const random = seeded(39);
const cities = CULTURES.flatMap(({ cities: all }) => all);
const circles = (): string[] => random.some(cities, CIRCLES).map(({ lat, lng }) => `${lat},${lng},${RADIUS_KM}`);
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));

const SCHEMA = buildSchema();
/** Fields within each other that a selection has. */
const DEPTH = 4;

/** Every field of a type. */
function everything(type: GraphQLObjectType, depth = DEPTH): string {
  const fields = Object.values(type.getFields()).flatMap((field) => {
    const inner = getNamedType(field.type);
    if (!isObjectType(inner)) return field.name;
    return depth === 0 ? [] : `${field.name} ${everything(inner, depth - 1)}`;
  });
  return `{ ${fields.join(' ')} }`;
}

/** The beginning of a document, before its fields. */
interface Head {
  readonly operation?: OperationTypeNode;
  readonly declared?: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** A document with as many of these fields at the top as one may have. */
function fullDocument(field: string, { operation = OperationTypeNode.QUERY, declared = '', variables = {} }: Head = {}): string {
  const text = (count: number): string => `${operation}${declared} { ${times(count, (index) => `f${index}: ${field}`).join(' ')} }`;
  let count = GRAPHQL_LIMITS.calls;
  for (; count > 1; count--) {
    try {
      if (text(count).length <= GRAPHQL_LIMITS.length) {
        planOf(SCHEMA, parse(text(count), { maxTokens: GRAPHQL_LIMITS.tokens }), { variables, operationName: null });
        break;
      }
    } catch {
      // Too costly: one field fewer.
    }
  }
  return JSON.stringify({ query: text(count), variables });
}

function typeOf(name: string, operation: OperationTypeNode = OperationTypeNode.QUERY): GraphQLObjectType {
  const type = SCHEMA.getRootType(operation)?.getFields()[name]?.type;
  if (type === undefined || !isNullableType(type) || isListType(type)) throw new Error(`there is no field ${name}`);
  const found = getNamedType(type);
  if (!isObjectType(found)) throw new Error(`${name} has no fields`);
  return found;
}

const post = (name: string, path: string, body: object): Kind => ({
  name,
  plan: { method: 'POST', paths: [path], headers: JSON_BODY, bodies: [JSON.stringify(body)], connections: 2 },
});
const graphql = (name: string, bodies: readonly string[]): Kind => ({
  name,
  plan: { method: 'POST', paths: ['/v1/graphql'], headers: JSON_BODY, bodies, connections: 2 },
});
const search = (name: string, bodies: readonly object[]): Kind => ({
  name,
  plan: {
    method: 'POST',
    paths: ['/v1/contacts/search'],
    headers: JSON_BODY,
    bodies: bodies.map((body) => JSON.stringify(body)),
    connections: 4,
  },
});

/** Ranges, each of which reads all binary digits of a number. */
const ranges = (from: number): string[] => times(100, (index) => `${from + index}-${from + index * 3}`);

/** Searches of every day: one to three filters, in any order. */
export function usualSearches(count: number): string[] {
  return times(count, () =>
    JSON.stringify({
      country: random.pick(CULTURES).code,
      ...(random.chance(0.5) ? { seniority: random.pick(['director', 'senior', 'vp']) } : {}),
      ...(random.chance(0.5) ? { headcount: `${random.int(1, 100)}-${random.int(101, 5_000)}` } : {}),
      sort: random.pick(['relevance', '-updated_at', 'name', '-headcount']),
    }),
  );
}

/** @param batch a finished job, for its results @param open a job that takes parts @param people bodies that find one of them */
export function kindsOf(batch: string, open: string, people: readonly string[]): Kind[] {
  const near = times(20, circles);
  const addresses = people.map((one) => (JSON.parse(one) as { readonly email: string }).email);
  return [
    { name: 'nothing', plan: QUIET },
    {
      name: 'GET /v1/signals as NDJSON',
      plan: { method: 'GET', paths: ['/v1/signals'], headers: { accept: 'application/x-ndjson' }, connections: 2 },
    },
    {
      name: 'GET /v1/signals as events from an old `since`',
      plan: {
        method: 'GET',
        paths: ['/v1/signals?since=2000-01-01'],
        headers: { accept: 'text/event-stream' },
        connections: 4,
        silentMs: 300,
      },
    },
    {
      name: 'pages of signals that match rarely',
      plan: {
        method: 'GET',
        paths: ['/v1/signals?type=executive_move&until=2025-12-31', '/v1/signals?domain=none.example'],
        connections: 2,
      },
    },
    search(
      `POST /v1/contacts/search with ${CIRCLES} circles`,
      near.map((one) => ({ near: one })),
    ),
    search('the same around the world', [{ near: times(CIRCLES, (index) => `${index},${index},20000`) }]),
    search('200 ranges', [{ years_experience: ranges(0), founded: ranges(1900), sort: 'name' }]),
    search('1,000 domains and 1,000 excluded', [
      { domain: times(1_000, (index) => `d${index}.example`), exclude_domain: times(1_000, (index) => `e${index}.example`) },
    ]),
    graphql('GraphQL: 100 searches with circles', [
      fullDocument(`contacts(first: 1, filter: { near: ${JSON.stringify(near[0])} }) { totalCount }`),
    ]),
    graphql('GraphQL: as many fields of contacts as one may have', [
      fullDocument(`contacts(first: 100) ${everything(typeOf('contacts'))}`),
    ]),
    graphql('GraphQL: as many whole records as one may look up', [
      fullDocument(`enrich(email: ${JSON.stringify(addresses[0])}) ${everything(typeOf('enrich', OperationTypeNode.MUTATION))}`, {
        operation: OperationTypeNode.MUTATION,
      }),
    ]),
    graphql('GraphQL: the schema itself', [JSON.stringify({ query: getIntrospectionQuery() })]),
    graphql('GraphQL: searches with 1,000 domains each', [
      fullDocument('contacts(first: 1, filter: { domain: $domains }) { totalCount }', {
        declared: '($domains: [String!])',
        variables: { domains: times(1_000, (index) => `d${index}.example`) },
      }),
    ]),
    graphql('GraphQL: 100 pages of signals that match rarely', [
      fullDocument('signals(first: 100, type: [executive_move], until: "2025-12-31") { edges { node { id } } }'),
    ]),
    {
      name: 'results of a batch job as CSV',
      plan: { method: 'GET', paths: [`/v1/batches/${batch}/results`], headers: { accept: 'text/csv' }, connections: 4 },
    },
    {
      name: 'uploads of parts of 32 MiB',
      plan: {
        method: 'PUT',
        paths: times(4, (index) => `/v1/batches/${open}/parts/${index + 1}`),
        headers: { 'content-type': 'application/x-ndjson' },
        bodies: [`${people[0] ?? ''}\n`],
        bodyBytes: 32 * MEGABYTE,
        connections: 4,
      },
    },
    post('100 lookups in one request', '/v1/enrich/bulk', {
      requests: people.slice(0, 100).map((params) => ({ params: JSON.parse(params) as unknown })),
    }),
    post('verdicts on 1,000 addresses', '/v1/emails/verify', {
      emails: addresses.slice(0, 1_000),
      mode: 'syntax',
    }),
    { name: 'a batch job of lookups', job: 'enrich', plan: QUIET },
    { name: 'a batch job of verdicts', job: 'verify', plan: QUIET },
    { name: 'millrace export, over and over', command: ['export', '--store', 'STORE', '--contacts', '-'], plan: QUIET },
    { name: '/metrics, over and over', plan: { method: 'GET', paths: ['/metrics'], connections: 4 } },
  ];
}
