/** A start of a definition from an OpenAPI document: sound as it is, with every guess marked. */
import { describe, expect, it } from 'vitest';
import { answers, begun, begunProvider, openapi, query, TEXT } from './support.ts';

const ENRICH = {
  get: { summary: 'Enrich a person', parameters: query('email', 'full_name', 'company_domain'), responses: answers({ email: TEXT }) },
};

describe('the start of a definition', () => {
  it('has the name, the address and the way of the API key', () => {
    const document = openapi({ '/people/enrich': ENRICH });
    expect(begunProvider(document)).toMatchObject({
      name: 'acme-data',
      title: 'Acme Data API',
      baseUrl: 'https://api.acme.example/v1',
      authentication: { kind: 'bearer' },
      readOn: '2026-11-26',
    });
    expect(begun(document).toFill).toEqual([]);
  });

  it('says on every guessed line that it is a guess', () => {
    const lines = begun(openapi({ '/people/enrich': ENRICH })).text.split('\n');
    for (const start of ['baseUrl:', 'authentication:', 'keys:', 'email: email', 'full_name: name', 'email: body.email', 'creditsAtMost:'])
      expect(lines.filter((line) => line.trim().startsWith(start))).toEqual([expect.stringMatching(/# guessed/)]);
  });

  it('names at its top what is to be filled in, and stays sound', () => {
    const document = openapi(
      {
        '/people/{version}/enrich': {
          get: {
            ...ENRICH.get,
            parameters: [...query('email'), { name: 'version', in: 'path' }, { name: 'source', in: 'query', required: true }],
          },
        },
      },
      { servers: [{ url: '/v1' }], components: {} },
    );
    const { text, toFill } = begun(document, ['/people/{version}/enrich']);
    expect(toFill).toEqual([
      'baseUrl: the document has no whole address',
      'authentication: the document names no way to send the API key',
      'operations.enrich.request.path: a value for {version}',
      'operations.enrich.request.query.source: the document requires it',
    ]);
    for (const what of toFill) expect(text.slice(0, text.indexOf('\nname:'))).toContain(what);
    expect(begunProvider(document, ['/people/{version}/enrich']).baseUrl).toBeNull();
  });

  it('suggests a rule for each documented status, as a comment', () => {
    const responses = { ...answers({ email: TEXT }), '402': { description: 'No credits' }, '404': { description: 'Nobody' }, '5XX': {} };
    const { text } = begun(openapi({ '/people/enrich': { get: { ...ENRICH.get, responses } } }));
    expect(text).toMatch(/# outOfCredits: status = 402 +# 402 No credits/);
    expect(text).toMatch(/# miss: status = 404 +# 404 Nobody/);
    expect(text).toContain('# retry: (status >= 500 and status < 600)');
  });

  it('lists the headers of a quota that are documented', () => {
    const responses = { '200': { description: 'ok', headers: { 'X-RateLimit-Left': {}, 'X-Request-Id': {} } } };
    const { text } = begun(openapi({ '/people/enrich': { get: { ...ENRICH.get, responses } } }));
    expect(text).toContain('# Headers of the quota (see quota.headers): X-RateLimit-Left\n');
  });
});

describe('the likely endpoints', () => {
  const paths = {
    '/account': { get: { summary: 'Account of the person', parameters: query('email') } },
    '/people/bulk': { post: { summary: 'Enrich many people', parameters: query('email') } },
    '/people/enrich': ENRICH,
    '/emails/verify': { get: { parameters: query('email'), responses: answers({ result: TEXT }) } },
    '/email-finder': { get: { parameters: query('first_name', 'last_name', 'domain'), responses: answers({ email: TEXT }) } },
    '/companies/{domain}': { get: { parameters: [{ name: 'domain', in: 'path', required: true }], responses: answers({ name: TEXT }) } },
  };

  it('the likeliest endpoints become enrich, verify, company and reveal', () => {
    const { operations } = begunProvider(openapi(paths));
    expect(Object.values(operations).map(({ name, keys }) => [name, keys])).toEqual([
      ['enrich', ['email', 'name+domain']],
      ['verify', ['email']],
      ['company', ['domain']],
      ['reveal', ['name+domain']],
    ]);
    expect(operations.company?.request?.path.map((part) => (typeof part === 'string' ? part : part.text))).toEqual([
      '/companies/',
      'domain',
    ]);
  });

  it('endpoints that are not taken are listed', () => {
    expect(begun(openapi(paths)).text).toContain('# Also in the document, and not taken (--path takes one):');
    expect(begun(openapi(paths)).text).toContain('POST /people/bulk');
  });

  it('the paths that the reader names are taken instead', () => {
    expect(Object.keys(begunProvider(openapi(paths), ['/email-finder']).operations)).toEqual(['reveal']);
    expect(() => begun(openapi(paths), ['/email-findr'])).toThrow('The document has no path /email-findr; did you mean /email-finder?');
    expect(() => begun(openapi({ '/account': paths['/account'] }))).toThrow(/No path of the document looks like a lookup/);
  });

  it('keys without a required part are left out', () => {
    const parameters = [...query('email'), ...query('full_name', 'domain').map((one) => ({ ...one, required: true }))];
    const { operations } = begunProvider(openapi({ '/people/enrich': { get: { parameters, responses: answers({ email: TEXT }) } } }));
    expect(operations.enrich?.keys).toEqual(['name+domain']);
  });
});

describe('a request with a body', () => {
  const body = (schema: object, type = 'application/json'): object => ({
    post: { summary: 'Enrich a person', requestBody: { content: { [type]: { schema } } }, responses: answers({ email: TEXT }) },
  });

  it('the fields of a body are filled, those in objects and lists too', async () => {
    const person = { type: 'object', properties: { email: TEXT, linkedin_url: TEXT, note: TEXT } };
    const schema = {
      type: 'object',
      required: ['mode'],
      properties: { data: { type: 'array', items: person }, mode: { type: 'string', enum: ['full'] } },
    };
    const { operations } = begunProvider(openapi({ '/people/enrich': body(schema) }));
    const input = { email: 'ada@example.com' };
    expect(await operations.enrich?.request?.body?.evaluate(input)).toEqual({ data: [{ email: 'ada@example.com' }], mode: 'full' });
    expect(operations.enrich?.keys).toEqual(['email', 'linkedin_url']);
  });

  it('a body is a form where the document says so', () => {
    const schema = { type: 'object', properties: { email: TEXT } };
    const { operations } = begunProvider(openapi({ '/people/enrich': body(schema, 'application/x-www-form-urlencoded') }));
    expect(operations.enrich?.request).toMatchObject({ method: 'POST', bodyType: 'form' });
  });
});

describe('a document of another kind', () => {
  it.each([
    ['swagger: "2.0"\npaths: {}', /is a Swagger 2.0 document/],
    ['openapi: 2.5\npaths: {}', /is of OpenAPI 2.5/],
    ['openapi: 3.1.0\ninfo: {title: x}', /has no paths/],
    ['[1, 2]', /is no OpenAPI document/],
    ['openapi: 3.0.0\npaths: {a: ]', /line 2/],
    ['{"openapi": "3.0.0", "paths": {', /acme/],
  ])('a document of another kind is refused: %s', async (text, message) => {
    const { newDefinition } = await import('../../../src/providers/new/new-definition.ts');
    expect(() => newDefinition(text, 'acme.yaml', { name: null, paths: [], today: '2026-11-26' })).toThrow(message);
  });
});
