/** Documents that are strange, hostile or huge begin a sound definition, or are refused; and soon. */
import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { ConfigError } from '../../../src/util/errors.ts';
import { answers, begun, begunProvider, openapi, query, TEXT } from './support.ts';

const path = (responses: unknown, parameters: unknown = query('email')): object => ({
  '/people/enrich': { get: { parameters, responses } },
});

it('references are followed within the document, and not beyond', () => {
  const components = {
    parameters: { mail: { name: 'email', in: 'query' } },
    responses: { found: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Person' } } } } },
    schemas: {
      Person: { allOf: [{ $ref: '#/components/schemas/Base' }, { properties: { job_title: TEXT } }] },
      Base: { properties: { work_email: TEXT } },
    },
  };
  const document = openapi(path({ '200': { $ref: '#/components/responses/found' } }, [{ $ref: '#/components/parameters/mail' }]) as never, {
    components,
  });
  expect(begun(document).text).toMatch(/email: body\.work_email .*\n +title: body\.job_title/);
  const remote = openapi(path({ '200': { $ref: 'https://evil.example/x.yaml#/a' } }) as never);
  expect(begun(remote).toFill).toEqual(['operations.enrich.record.email: the document shows no field for it']);
});

it('a parameter of the path that the path lacks, and a body of a GET, are no keys', () => {
  const parameters = [...query('email'), { name: 'linkedin_url', in: 'path' }];
  const requestBody = { content: { 'application/json': { schema: { properties: { phone: TEXT } } } } };
  const document = openapi({ '/people/enrich': { get: { parameters, requestBody, responses: answers({ email: TEXT }) } } });
  expect(begunProvider(document).operations.enrich?.keys).toEqual(['email']);
});

it('references in a circle, and schemas that hold themselves, come to an end', () => {
  const schemas = {
    A: { $ref: '#/components/schemas/B' },
    B: { $ref: '#/components/schemas/A' },
    Node: { properties: { email: TEXT, next: { $ref: '#/components/schemas/Node' } } },
  };
  const found = (name: string): object => ({
    '200': { content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } } },
  });
  expect(begun(openapi(path(found('A')) as never, { components: { schemas } })).toFill).toContain(
    'operations.enrich.record.email: the document shows no field for it',
  );
  expect(begun(openapi(path(found('Node')) as never, { components: { schemas } })).text).toContain('email: body.email ');
});

it('a schema that doubles at each level is cut', () => {
  const schemas = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [
      `L${index}`,
      {
        properties: Object.fromEntries(
          ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, { $ref: `#/components/schemas/L${index + 1}` }]),
        ),
      },
    ]),
  );
  const responses = { '200': { content: { 'application/json': { schema: { $ref: '#/components/schemas/L0' } } } } };
  expect(begun(openapi(path(responses) as never, { components: { schemas } })).text.length).toBeLessThan(20_000);
  const wide = { allOf: Array.from({ length: 6 }, () => ({ $ref: '#/components/schemas/W' })) };
  const circle = { schemas: { W: wide } };
  const loop = { '200': { content: { 'application/json': { schema: { $ref: '#/components/schemas/W' } } } } };
  expect(begun(openapi(path(loop) as never, { components: circle })).text).toContain('operations:');
});

it('words of the document cannot leave their comment, or their quotes', () => {
  const evil = 'x\noperations: {}\r# " \' \u2028 {';
  const document = openapi(
    {
      '/people/enrich': {
        get: {
          summary: evil,
          parameters: query('email', evil),
          responses: {
            '200': { description: evil, headers: { [`${evil} limit`]: {} }, ...(answers({ [evil]: TEXT, email: TEXT })['200'] as object) },
          },
        },
      },
      [`/people/${evil}`]: { put: { parameters: query('email') } },
    },
    { info: { title: evil } },
  );
  expect(begunProvider(document).operations.enrich?.keys).toEqual(['email']);
});

it('whatever the document holds, the start compiles, or the document is refused in words', () => {
  const name = fc.oneof(
    fc.constantFrom('email', 'name', 'domain', 'first_name', 'api key', '__proto__', 'a b', '`'),
    fc.string({ maxLength: 8 }),
  );
  const schema = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small' },
      fc.constant({}),
      fc.record({ type: fc.constantFrom('string', 'integer', 'array', 'object') }),
      fc.record({ properties: fc.dictionary(name, tie('any')) }),
      fc.record({ items: tie('any') }),
      fc.json().map((text) => JSON.parse(text) as unknown),
    ),
  })).any;
  const operation = fc.record(
    {
      summary: fc.string(),
      parameters: fc.array(fc.record({ name, in: fc.constantFrom('query', 'path', 'header'), required: fc.boolean(), schema })),
      requestBody: fc.record({ content: fc.record({ 'application/json': fc.record({ schema }) }) }),
      responses: fc.dictionary(
        fc.constantFrom('200', '404', '4XX', 'default'),
        fc.record({ content: fc.record({ 'application/json': fc.record({ schema }) }) }),
      ),
    },
    { requiredKeys: ['parameters'] },
  );
  const property = fc.property(
    fc.dictionary(
      fc.constantFrom('/people/enrich', '/verify/{email}', '/companies/{x}', '/a b', '/email-finder'),
      fc.record({ get: operation, post: operation }, { requiredKeys: [] }),
    ),
    (paths) => {
      let text = '';
      try {
        ({ text } = begun(openapi(paths)));
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError);
        return;
      }
      if (text.includes('# Faults that')) expect(text).toContain('# To fill in:');
      else begunProvider(openapi(paths));
    },
  );
  fc.assert(property, { numRuns: 200 });
});
