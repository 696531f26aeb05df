import { buildClientSchema, getIntrospectionQuery, printSchema, type IntrospectionQuery } from 'graphql';
import { beforeEach, describe, expect, it } from 'vitest';
import { GRAPHQL_TYPE } from '../../../src/service/openapi/graphql-operation.ts';
import type { Served } from '../harness.ts';
import { ask, SCHEMA } from './asking.ts';
import { many, serveGraphql } from './graphql-service.ts';

let service: Served;
beforeEach(async () => {
  service = await serveGraphql();
});

describe('a GraphQL document', () => {
  it('takes aliases, fragments, variables, directives and several operations', async () => {
    const document = `
      query Other { contact(id: "pe_1") { id } }
      query Wanted($id: String!, $more: Boolean = false) {
        ann: contact(id: $id) { ...Names ...Names label: title @include(if: $more) company { name } company { domain } }
        jane: contact(id: "pe_1") { ...Names ... on Contact { title @skip(if: $more) } }
      }
      fragment Names on Contact { __typename name }`;
    const { status, data, errors } = await ask(service, document, { variables: { id: 'pe_a' }, operationName: 'Wanted' });
    expect([status, errors]).toEqual([200, []]);
    expect(data).toEqual({
      ann: { __typename: 'Contact', name: 'Ann Able', company: { name: 'Acme', domain: 'acme.example' } },
      jane: { __typename: 'Contact', name: 'Jane Doe', title: 'CTO' },
    });
  });

  it('reads the schema by introspection', async () => {
    const { data } = await ask(service, getIntrospectionQuery());
    expect(printSchema(buildClientSchema(data as unknown as IntrospectionQuery))).toBe(printSchema(SCHEMA));
  });

  it('gets addresses as objects, also where one is stored as text', async () => {
    const { data } = await ask(service, 'mutation { enrich(id: "pe_a") { emails { email type } } }');
    expect(data).toEqual({
      enrich: {
        emails: [
          { email: 'ann@home.example', type: null },
          { email: 'able@acme.example', type: 'work' },
        ],
      },
    });
  });

  it('finds no address and no number of a contact that is not revealed', () => {
    const shown =
      printSchema(SCHEMA)
        .split(/\n(?=type )/)
        .find((part) => part.startsWith('type Contact {')) ?? '';
    expect(shown).toContain('has_email');
    for (const field of ['email', 'emails', 'personal_emails', 'mobile', 'phones']) expect(shown).not.toMatch(new RegExp(`\\n  ${field}:`));
  });
});

describe('a GraphQL request as a whole', () => {
  it.each<[string, string, string]>([
    ['an empty document', '', 'invalid_document'],
    ['an unknown field', '{ contact(id: "pe_1") { email } }', 'invalid_document'],
    ['an unknown argument', '{ contact(email: "ann@acme.example") { name } }', 'invalid_document'],
    ['an unknown value of an enum', '{ signals(type: [rain]) { edges { cursor } } }', 'invalid_document'],
    ['an undeclared variable', '{ contact(id: $id) { name } }', 'invalid_document'],
    ['a variable without its value', 'query ($id: String!) { company(domain: $id) { name } }', 'invalid_document'],
    ['an unsupported kind of operation', 'subscription { contact { name } }', 'invalid_document'],
    ['several operations', 'query A { __typename } query B { __typename }', 'unknown_operation'],
    [
      'fragments in a circle',
      '{ contact(id: "pe_1") { ...A } } fragment A on Contact { ...B } fragment B on Contact { ...A }',
      'invalid_document',
    ],
    ['one name for two fields', '{ contact(id: "pe_1") { name name: title } }', 'conflict'],
    ['one name for two calls', '{ contact(id: "pe_1") { name } contact(id: "pe_2") { name } }', 'conflict'],
    ['a field under two names', '{ contact(id: "pe_1") { a: name b: name } }', 'repeated'],
    ['a flood of names', many(101, '__typename').replaceAll('__typename', 'contact(id: "pe_1") { name }'), 'too_many'],
    [
      'more output than the limit',
      '{ ' +
        Array.from(
          { length: 60 },
          (_, n) => `c${n}: contacts(first: 100) { edges { cursor node { id name title headline summary skills languages } } }`,
        ).join(' ') +
        ' }',
      'too_costly',
    ],
    [
      'more verdicts than the limit',
      `mutation { verifyEmails(emails: [${'"a" '.repeat(1_000)}]) { data { email normalized result ` +
        'reason confidence verified did_you_mean checks { name result detail ms } score_factors { ' +
        'factor points } mx { records { host preference } } smtp { stage host code message } } } }',
      'too_costly',
    ],
    [
      'verdicts of which no field is selected',
      `mutation ($emails: [String!]! = [${'"a" '.repeat(1_000)}]) { ` +
        `${Array.from({ length: 51 }, (_, n) => `v${n}: verifyEmails(emails: $emails) { summary { unknown } }`).join(' ')} }`,
      'too_costly',
    ],
    ['depth', `{ contact(id: "pe_1") ${'{ company '.repeat(40)} { name } ${'}'.repeat(40)} }`, 'too_deep'],
    ['depth by introspection', `{ __type(name: "Person") ${'{ ofType '.repeat(20)} { name } ${'}'.repeat(20)} }`, 'too_deep'],
    ['types of fields of types', '{ __schema { types { fields { type { fields { name } } } } } }', 'too_deep'],
    ['the schema twice', '{ a: __schema { description } b: __schema { description } }', 'repeated'],
    ['too many tokens', `{ ${'__typename '.repeat(5_000)} }`, 'too_many_tokens'],
    ['too many characters', `{ __typename #${'x'.repeat(100_000)}\n }`, 'too_long'],
  ])('gets refused with a pointer to the query: %s', async (_what, query, wrong) => {
    const plain = await ask(service, query);
    expect([plain.status, plain.data, plain.credits, plain.codes[0]]).toEqual([200, undefined, 0, 'validation_failed']);
    expect(plain.errors[0]?.extensions).toMatchObject({
      status: 422,
      retryable: false,
      request_id: plain.headers.get('x-request-id'),
      errors: [{ pointer: '/query', code: wrong }],
    });
    const own = await ask(service, query, { headers: { accept: GRAPHQL_TYPE } });
    expect([own.status, own.headers.get('content-type')]).toEqual([400, `${GRAPHQL_TYPE}; charset=utf-8`]);
    expect(own.errors.map(({ message }) => message)).toEqual(plain.errors.map(({ message }) => message));
  });

  it.each<[string, unknown, string]>([
    ['a list', [], ''],
    ['no query', {}, '/query'],
    ['a query that is no text', { query: 5 }, '/query'],
    ['a misspelt name', { qeury: '{ __typename }' }, '/qeury'],
    ['variables that are a list', { query: '{ __typename }', variables: [] }, '/variables'],
    ['an operation name that is no text', { query: '{ __typename }', operationName: 5 }, '/operationName'],
    ['odd extensions', { query: '{ __typename }', extensions: 'x' }, '/extensions'],
  ])('gets 422 with a pointer to the member of the body: %s', async (_what, body, pointer) => {
    const { status, json } = await service.post('/v1/graphql', body);
    expect([status, json['code']]).toEqual([422, 'validation_failed']);
    expect(json['errors']).toContainEqual(expect.objectContaining({ pointer }));
  });
});
