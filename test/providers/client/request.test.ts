/** The request that a definition makes of a lookup. */
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { RotatingKey } from '../../../src/client/rotating-key.ts';
import * as fc from '../../support/fast-check.ts';
import { answer, bodyOf, serve } from '../../client/servers.ts';
import { declaredClient, KEY, type OperationText, type ProviderText } from './declared.ts';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

async function recorder(): Promise<{ readonly url: string; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const url = await serve(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    seen.push({ method, url: path, headers, body: await bodyOf(request) });
    answer(response, { status: 200, body: '{"name":"Ana"}' });
  });
  return { url, seen };
}

/** The request that one enrich lookup sends. */
async function requestOf(
  operation: OperationText,
  { key = { email: 'ana@acme.example' }, more = {}, prefix = '' }: { key?: object; more?: Partial<ProviderText>; prefix?: string } = {},
): Promise<Seen> {
  const { url, seen } = await recorder();
  const client = declaredClient(url + prefix, { operations: { enrich: operation }, ...more });
  const result = await client.callEnrich(client.enrichBody(key as { email: string }), { idempotencyKey: 'key-1' });
  expect(result).toMatchObject({ kind: 'ok' });
  return seen[0] as Seen;
}

/** The result of a lookup that must not be sent. */
async function refusalOf(operation: OperationText, key: object = { email: 'ana@acme.example' }): Promise<unknown> {
  const { url, seen } = await recorder();
  const client = declaredClient(url, { operations: { enrich: operation } });
  const result = await client.callEnrich(client.enrichBody(key as { email: string }));
  expect(seen).toEqual([]);
  return result;
}

describe('the key of a provider', () => {
  it.each([
    ['bearer', { kind: 'bearer' }, { authorization: `Bearer ${KEY}` }],
    ['a header', { kind: 'header', name: 'X-Api-Key', prefix: '' }, { 'x-api-key': KEY }],
    ['a header with a prefix', { kind: 'header', name: 'Authorization', prefix: 'Token ' }, { authorization: `Token ${KEY}` }],
    [
      'basic, as the password',
      { kind: 'basic', user: 'me', password: null },
      { authorization: `Basic ${Buffer.from(`me:${KEY}`).toString('base64')}` },
    ],
    [
      'basic, as the user',
      { kind: 'basic', user: null, password: 'x' },
      { authorization: `Basic ${Buffer.from(`${KEY}:x`).toString('base64')}` },
    ],
  ] as const)('travels by %s', async (_how, authentication, headers) => {
    const seen = await requestOf({}, { more: { authentication } });
    expect(seen.headers).toMatchObject(headers);
    expect(seen.url).toBe('/');
  });

  it('travels in the query, percent-encoded, after all other parameters', async () => {
    const seen = await requestOf(
      { request: { query: { email: 'email' } } },
      { more: { authentication: { kind: 'query', name: 'api_key' } } },
    );
    expect(seen.url).toBe(`/?email=ana%40acme.example&api_key=${encodeURIComponent(KEY)}`);
    expect(seen.headers.authorization).toBeUndefined();
  });

  it('travels in the body where there is one, and else in the query', async () => {
    const more = { authentication: { kind: 'body', name: 'api_key', query: 'key' } } as const;
    const body = { email: 'email', api_key: '"mine"' };
    const json = await requestOf({ request: { method: 'POST', body } }, { more });
    expect([json.url, JSON.parse(json.body)]).toEqual(['/', { email: 'ana@acme.example', api_key: KEY }]);
    const form = await requestOf({ request: { method: 'POST', body, bodyType: 'form' } }, { more });
    expect(form.body).toBe(`email=ana%40acme.example&api_key=${encodeURIComponent(KEY)}`);
    expect(await requestOf({}, { more })).toMatchObject({ url: `/?key=${encodeURIComponent(KEY)}` });
  });

  it('the key is not sent by a provider without authentication', async () => {
    const seen = await requestOf({}, { more: { authentication: null } });
    expect(JSON.stringify(seen)).not.toContain(KEY);
  });

  it('a new key is carried by every later call', async () => {
    const apiKey = new RotatingKey(KEY, { readAgain: () => Promise.resolve('second'), wait: () => Promise.resolve() });
    const { url, seen } = await recorder();
    const client = declaredClient(url, { operations: { enrich: {} } }, { apiKey });
    await client.callEnrich('{"email":"a@x.example"}');
    await apiKey.renew(1);
    await client.callEnrich('{"email":"a@x.example"}');
    expect(seen.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`, 'Bearer second']);
  });

  it('the key goes before a header of the definition with the same name', async () => {
    const authentication = { kind: 'header', name: 'X-Api-Key', prefix: '' } as const;
    const seen = await requestOf(
      { request: { headers: { 'X-API-KEY': '"other"' } } },
      { more: { authentication, headers: { 'x-api-key': 'third' } } },
    );
    expect(seen.headers['x-api-key']).toBe(KEY);
  });
});

describe('the path', () => {
  it('has the prefix of the address, and each value percent-encoded', async () => {
    const seen = await requestOf(
      { request: { path: '/people/{email}/at/{domain}' } },
      { key: { email: 'a/b?c@x.example', domain: 'ü.example' }, prefix: '/v3' },
    );
    expect(seen.url).toBe('/v3/people/a%2Fb%3Fc%40x.example/at/%C3%BC.example');
  });

  it('brings any text to the server as it is', async () => {
    const { url, seen } = await recorder();
    const client = declaredClient(url, { operations: { enrich: { request: { path: '/p/{name}', query: { n: 'name' } } } } });
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }), async (name) => {
        seen.length = 0;
        const result = await client.callEnrich(client.enrichBody({ name, domain: 'x.example' }));
        if (name === '.' || name === '..') expect(result).toMatchObject({ code: 'no_request_value' });
        else {
          expect(result.kind).toBe('ok');
          const [path = '', query = ''] = seen[0]?.url.slice('/p/'.length).split('?n=') ?? [];
          expect([decodeURIComponent(path), decodeURIComponent(query)]).toEqual([name.toWellFormed(), name.toWellFormed()]);
        }
      }),
      // Half a surrogate pair has no percent-encoding.
      { numRuns: 200, examples: [['\ud800x']] },
    );
  });

  it.each([
    ['lacks', { email: 'a@x.example' }],
    ['has empty', { phone: '' }],
    ['has as dots alone', { phone: '..' }],
  ])('a lookup that %s a value of the path is refused before it is sent', async (_what, key) => {
    expect(await refusalOf({ request: { path: '/by-phone/{phone}' } }, key)).toMatchObject({
      kind: 'rejected',
      code: 'no_request_value',
      detail: expect.stringMatching(/operations\.enrich\.request\.path|by-phone/) as string,
      meta: { status: 0, credits: 0 },
    });
  });

  it('the path is never longer than a server reads', async () => {
    const result = await refusalOf({ request: { path: '/p/{email}' } }, { email: 'a'.repeat(9_000) });
    expect(result).toMatchObject({ kind: 'rejected', code: 'bad_request' });
  });
});

describe('the query', () => {
  it('keeps the order of the definition, repeats lists and leaves out what finds nothing', async () => {
    const query = { z: '"1"', none: 'phone', nil: 'null', a: '["x", 2, true]', empty: '""', 'odd name': '"&="' };
    const seen = await requestOf({ request: { query } });
    expect(seen.url).toBe('/?z=1&a=x&a=2&a=true&empty=&odd%20name=%26%3D');
  });

  it('an object as a value is refused, and the message names its key', async () => {
    expect(await refusalOf({ request: { query: { q: '{"a": 1}' } } })).toMatchObject({
      code: 'bad_mapping',
      detail: 'operations.enrich.request.query.q: expected text, a number, true or false, got an object',
    });
  });

  it('has the options of the job', async () => {
    const { url, seen } = await recorder();
    const enrich = { request: { query: { min: 'min_likelihood', required: 'required' } } };
    const client = declaredClient(url, { operations: { enrich } }, { lookups: { minLikelihood: 6, required: ['email', 'title'] } });
    await client.callEnrich(client.enrichBody({ email: 'a@x.example' }));
    expect(seen[0]?.url).toBe('/?min=6&required=email&required=title');
  });
});

describe('the headers', () => {
  it('the headers are those of the provider and of the request, and the latter replace the former', async () => {
    const seen = await requestOf(
      { request: { headers: { 'X-Trace': '"t" & "1"', Accept: '"text/json"', 'X-None': 'phone' } } },
      { more: { headers: { Accept: 'application/x', 'User-Agent': 'acme/1' }, idempotencyHeader: 'X-Idempotency' } },
    );
    expect(seen.headers).toMatchObject({ 'x-trace': 't1', accept: 'text/json', 'user-agent': 'acme/1', 'x-idempotency': 'key-1' });
    expect(seen.headers).not.toHaveProperty('x-none');
  });

  it('have no idempotency key where the provider knows none', async () => {
    expect(JSON.stringify((await requestOf({})).headers)).not.toContain('key-1');
  });

  it.each([
    ['a line break', 'a\r\nX-Evil: 1', 'operations.enrich.request.headers.X-Name gives characters that a header cannot have'],
    ['a letter beyond ASCII', 'Zoë', 'operations.enrich.request.headers.X-Name gives characters that a header cannot have'],
    ['too many characters', 'a'.repeat(9_000), 'operations.enrich.request.headers.X-Name: the headers have more than 8000 characters'],
  ])('a value with %s is refused before it is sent', async (_what, name, detail) => {
    const enrich = { request: { headers: { 'X-Name': 'name' } } };
    expect(await refusalOf(enrich, { name, domain: 'x.example' })).toMatchObject({ kind: 'rejected', code: 'bad_request', detail });
  });

  it('a header that undici does not accept is a result, not an exception', async () => {
    const { url, seen } = await recorder();
    const client = declaredClient(url, { operations: { enrich: {} }, headers: { 'bad name': '1' } });
    expect(await client.callEnrich('{"email":"a@x.example"}')).toMatchObject({ kind: 'rejected', code: 'bad_request' });
    expect(seen).toEqual([]);
  });
});

describe('the body', () => {
  it('the body is JSON of a mapping whose leaves are mappings', async () => {
    const seen = await requestOf({
      request: { method: 'POST', body: { params: { email: 'email', phone: 'phone', pretty: true }, list: ['email'] } },
    });
    expect(JSON.parse(seen.body)).toEqual({ params: { email: 'ana@acme.example', pretty: true }, list: ['ana@acme.example'] });
    expect(seen).toMatchObject({ method: 'POST', headers: { 'content-type': 'application/json' } });
  });

  it('the body is a form where the definition says so', async () => {
    const seen = await requestOf({
      request: { method: 'PUT', bodyType: 'form', body: { e: 'email', l: '["a b", "c&d"]', none: 'phone' } },
    });
    expect(seen.body).toBe('e=ana%40acme.example&l=a+b&l=c%26d');
    expect(seen).toMatchObject({ method: 'PUT', headers: { 'content-type': 'application/x-www-form-urlencoded' } });
  });

  it('a body that finds nothing is refused before it is sent', async () => {
    expect(await refusalOf({ request: { method: 'POST', body: 'phone' } })).toMatchObject({ code: 'no_request_value' });
  });

  it('a form of a list is refused', async () => {
    expect(await refusalOf({ request: { method: 'POST', bodyType: 'form', body: '[1]' } })).toMatchObject({
      code: 'bad_mapping',
      detail: 'operations.enrich.request.body: expected an object for a form, got a list of 1',
    });
  });
});

describe('the lookup', () => {
  it('has the parts of the name: the first word, and the rest', async () => {
    const query = { f: 'first_name', l: 'last_name', n: 'name', c: 'company' };
    const seen = await requestOf({ request: { query } }, { key: { name: ' Ana  Maria de  Sá ', company: 'Acme' } });
    const { searchParams } = new URL(seen.url, 'http://x.example');
    expect(Object.fromEntries(searchParams)).toEqual({ f: 'Ana', l: 'Maria de  Sá', n: ' Ana  Maria de  Sá ', c: 'Acme' });
  });

  it('a name of one word has no last name', async () => {
    const seen = await requestOf(
      { request: { query: { f: 'first_name', l: 'last_name' } } },
      { key: { name: 'Ana', domain: 'x.example' } },
    );
    expect(seen.url).toBe('/?f=Ana');
  });

  it('the lookup is one text, whatever the order of its keys is', async () => {
    const client = declaredClient('http://127.0.0.1:1', { operations: { enrich: {} } }, { lookups: { minLikelihood: 2, required: [] } });
    const text = '{"name":"Ana","domain":"x.example","min_likelihood":2}';
    expect(client.enrichBody({ name: 'Ana', domain: 'x.example' })).toBe(text);
    expect(client.enrichBody({ domain: 'x.example', name: 'Ana' })).toBe(text);
    expect(client.revealBody({ company: 'Acme', name: 'Ana' })).toBe('{"name":"Ana","company":"Acme"}');
  });

  it('goes to another host where the request names one', async () => {
    const [usual, other] = [await recorder(), await recorder()];
    const client = declaredClient(usual.url, { operations: { company: { request: { baseUrl: `${other.url}/c`, path: '/{domain}' } } } });
    expect(await client.callCompany('x.example')).toMatchObject({ kind: 'ok' });
    expect([usual.seen.length, other.seen[0]?.url]).toEqual([0, '/c/x.example']);
  });

  it('a lookup of a step that the definition lacks is refused', async () => {
    const client = declaredClient('http://127.0.0.1:1', { operations: {} });
    const results = [
      await client.callEnrich('{}'),
      await client.callCompany('x.example'),
      await client.callVerify('{"emails":["a@x.example"]}'),
    ];
    for (const result of results) expect(result).toMatchObject({ kind: 'rejected', code: 'no_operation' });
  });
});
