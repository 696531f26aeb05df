/** The schema: what may be asked for, of the types that REST has. Pure. */
import {
  GraphQLBoolean,
  GraphQLEnumType,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  type GraphQLArgumentConfig,
  type GraphQLFieldConfig,
  type GraphQLNullableInputType,
  type GraphQLNullableOutputType,
  type GraphQLOutputType,
} from 'graphql';
import { schemaComponents } from '../openapi/components.ts';
import type { Parameter, Parameters } from '../http/operation.ts';
import { GET_COMPANY } from '../lookups/companies-operation.ts';
import { ENRICH, ENRICH_BODY } from '../lookups/enrich-operations.ts';
import { REVEAL, REVEAL_BODY } from '../lookups/reveal-operation.ts';
import { SEARCH_LIMIT, SEARCH_PARAMETERS } from '../search/search-operations.ts';
import { SIGNAL_LIMIT, SIGNAL_PARAMETERS } from '../signals/signals-operation.ts';
import { VERIFY, VERIFY_BODY } from '../verify/verify-operations.ts';
import { FILTERS } from '../search/filters.ts';
import { bodyArguments, parameterArgument, parameterArguments, parameterObject, type Arguments } from './input-types.ts';
import { OutputTypes } from './output-types.ts';

/** Outcomes of the calls by their alias. A failure is thrown. */
export type Outcomes = ReadonlyMap<string, () => unknown>;

const AFTER: Parameter = { description: 'A cursor of the page before, with the same filters and order.', schema: { type: 'string' } };
const required = (type: GraphQLNullableOutputType): GraphQLNonNull<GraphQLNullableOutputType> => new GraphQLNonNull(type);

const PAGE_INFO = new GraphQLObjectType({
  name: 'PageInfo',
  fields: {
    hasNextPage: { type: required(GraphQLBoolean) },
    hasPreviousPage: { type: required(GraphQLBoolean), description: 'Whether the page began after a cursor.' },
    startCursor: { type: GraphQLString },
    endCursor: { type: GraphQLString, description: 'Pass it as `after` for the next page.' },
  },
});

const TOTALS = {
  totalCount: { type: required(GraphQLInt), description: 'How many there are.' },
  totalRelation: {
    type: required(new GraphQLEnumType({ name: 'TotalRelation', values: { eq: {}, gte: {} } })),
    description: 'Whether there are exactly so many, or at least.',
  },
};

function connection(node: GraphQLObjectType, more: Readonly<Record<string, GraphQLFieldConfig<unknown, unknown>>> = {}): GraphQLObjectType {
  const edge = new GraphQLObjectType({
    name: `${node.name}Edge`,
    fields: { cursor: { type: required(GraphQLString) }, node: { type: required(node) } },
  });
  return new GraphQLObjectType({
    name: `${node.name}Connection`,
    fields: { edges: { type: required(new GraphQLList(required(edge))) }, pageInfo: { type: required(PAGE_INFO) }, ...more },
  });
}

/** Cursor and limit go by the names that connections have for them. */
function paged(limit: Parameter, args: Arguments): Arguments {
  return {
    ...args,
    first: parameterArgument('First', {
      ...limit,
      description: `How many at most, ${String(limit.schema['minimum'])} to ${String(limit.schema['maximum'])}.`,
    }),
    after: parameterArgument('After', AFTER),
  };
}

function without(parameters: Parameters, names: readonly string[]): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !names.includes(name)));
}

export function buildSchema(): GraphQLSchema {
  const types = new OutputTypes(schemaComponents());
  // Their parts are named after them, though others have the same.
  const signal = types.record('Signal');
  const person = types.record('Person');
  const field = (type: GraphQLOutputType, description: string, args: Arguments): GraphQLFieldConfig<Outcomes, unknown> => ({
    type,
    description,
    args,
    resolve: (outcomes, _args, _context, { path }) => outcomes.get(String(path.key))?.(),
  });
  const { sort, ...search } = without(SEARCH_PARAMETERS, ['limit', 'cursor', 'fields']);
  const contacts = connection(types.record('Contact'), TOTALS);
  const filter = {
    type: parameterObject(
      'ContactFilter',
      without(
        search,
        Object.keys(search).filter((name) => !Object.hasOwn(FILTERS, name)),
      ),
    ),
    description: 'All must be met, and one of the values of each.',
  };
  const { id, linkedin_url } = bodyArguments('Contact', REVEAL_BODY);
  const query = new GraphQLObjectType({
    name: 'Query',
    fields: {
      contacts: field(
        contacts,
        'As `GET /v1/contacts/search`: addresses and numbers are not shown. Free.',
        paged(SEARCH_LIMIT, { filter, sort: parameterArgument('Sort', sort as Parameter) }),
      ),
      contact: field(types.record('Contact'), 'One contact as a search shows them, by `id` or `linkedin_url`. Free.', {
        id,
        linkedin_url,
      } as Arguments),
      company: field(types.record('Company'), `As \`GET ${GET_COMPANY.path}\`. ${GET_COMPANY.description}`, {
        domain: { type: new GraphQLNonNull(GraphQLString), description: 'A domain, or a URL in its place.' },
      }),
      signals: field(
        connection(signal),
        'As `GET /v1/signals`, the newest first. Free.',
        paged(SIGNAL_LIMIT, parameterArguments('SignalFilter', without(SIGNAL_PARAMETERS, ['limit', 'cursor']))),
      ),
    },
  });
  const { emails, ...verification } = bodyArguments('VerifyEmails', VERIFY_BODY, ['email', 'webhook_url']);
  const mutation = new GraphQLObjectType({
    name: 'Mutation',
    description: 'What costs credits each time, or asks mail servers.',
    fields: {
      enrich: field(person, `As \`POST ${ENRICH.path}\`. ${ENRICH.description}`, bodyArguments('Enrich', ENRICH_BODY, ['fields'])),
      reveal: field(
        types.record('RevealedContact'),
        `As \`POST ${REVEAL.path}\`. ${REVEAL.description}`,
        bodyArguments('Reveal', REVEAL_BODY),
      ),
      verifyEmails: field(
        types.record('VerificationBatch'),
        `As \`POST ${VERIFY.path}\`. Each mailbox with a verdict other than \`unknown\` costs a credit.`,
        { emails: requiredArgument(emails), ...verification },
      ),
    },
  });
  return new GraphQLSchema({ query, mutation });
}

function requiredArgument(argument: GraphQLArgumentConfig | undefined): GraphQLArgumentConfig {
  const found = argument as GraphQLArgumentConfig;
  return { ...found, type: new GraphQLNonNull(found.type as GraphQLNullableInputType) };
}
