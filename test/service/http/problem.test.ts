import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { casesOf } from '../../support/sample.ts';
import { KEY, makeKey, makeStore, serveStore, type Served } from '../harness.ts';

const AUTH = { authorization: `Bearer ${KEY}` };
const JSON_AUTH = { ...AUTH, 'content-type': 'application/json' };

async function raw(service: Served, bytes: string): Promise<string> {
  const socket = connect(service.port, '127.0.0.1');
  socket.write(bytes, 'latin1');
  return text(socket);
}

describe('every answer', () => {
  it('states its price, its request id and what is left of the quota', async () => {
    const service = await serveStore({ rpm: 10 });
    const replies = [
      await service.post('/v1/enrich', { id: 'pe_1' }),
      await service.post('/v1/enrich', '{'),
      await service.request('/v1/nope', { headers: AUTH }),
      await service.request('/v1/enrich', { headers: AUTH }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 400, 404, 405]);
    // A request that is no call takes nothing of the quota.
    expect(replies.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['9', '8', '8', '8']);
    for (const { headers } of replies) {
      expect(headers.get('x-ratelimit-limit')).toBe('10');
      expect(headers.get('x-ratelimit-reset')).toMatch(/^(?:[1-9]|1[0-2])$/);
      expect(headers.get('ratelimit-policy')).toBe('"embedded";q=10;w=60');
      expect(headers.get('ratelimit')).toMatch(/^"embedded";r=\d+;t=(?:[1-9]|1[0-2])$/);
      expect(headers.get('x-credits-charged')).toMatch(/^[01]$/);
    }
    expect(new Set(replies.map(({ headers }) => headers.get('x-request-id'))).size).toBe(4);
  });

  it('to a request without a key has an empty quota, an id and a price', async () => {
    const service = await serveStore();
    const { status, json, headers } = await service.post('/v1/enrich', { id: 'pe_1' }, { key: null });
    expect([status, json['code'], headers.get('www-authenticate')]).toEqual([401, 'unauthorized', 'Bearer']);
    expect(headers.get('x-request-id')).toBe(json['request_id']);
    expect(headers.get('x-credits-charged')).toBe('0');
    expect([headers.get('x-ratelimit-remaining'), headers.get('x-ratelimit-reset'), headers.get('ratelimit')]).toEqual([
      '0',
      '0',
      '"anonymous";r=0;t=0',
    ]);
  });
});

describe('the service', () => {
  it.each(['nonsense', '', ' ', 'x'.repeat(10_000)])('answers 401 to the key %j', async (key) => {
    const service = await serveStore();
    expect((await service.post('/v1/enrich', { id: 'pe_1' }, { key })).json['code']).toBe('unauthorized');
  });

  it('answers 404 to an unknown path and 405 with Allow to a wrong method, with or without a key', async () => {
    const service = await serveStore();
    for (const headers of [AUTH, {}]) {
      expect((await service.request('/v1/enrich/', { method: 'POST', headers })).json['code']).toBe('not_found');
      expect((await service.request('/v1/%zz', { method: 'POST', headers })).json['code']).toBe('invalid_parameter');
      for (const method of ['GET', 'DELETE', 'OPTIONS', 'PATCH']) {
        const reply = await service.request('/v1/emails/verify', { method, headers });
        expect([reply.status, reply.json['code'], reply.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'POST']);
      }
      expect((await service.request('/healthz', { method: 'PUT', headers })).headers.get('allow')).toBe('GET, HEAD');
    }
  });

  it('answers a documented 404 to a company path that is too long, and takes none of the quota', async () => {
    const store = await makeStore();
    const service = await serveStore({ store });
    const key = await makeKey(store, 'growth');
    for (const path of [`/v1/companies/${'a'.repeat(2_049)}.example`]) {
      const { status, json, headers } = await service.request(path, { headers: { authorization: `Bearer ${key}` } });
      expect([
        status,
        json['code'],
        headers.get('ratelimit-policy'),
        headers.get('x-ratelimit-limit'),
        headers.get('x-ratelimit-remaining'),
      ]).toEqual([404, 'not_found', '"growth";q=1000;w=60', '1000', '1000']);
      expect((await service.request(path)).headers.get('ratelimit-policy')).toBe('"anonymous";q=0;w=60');
    }
  });

  it.each(['', '{', '{"email":}', 'nul', '[1,]', Buffer.from([0x22, 0xff, 0xfe, 0x22])])('answers 400 invalid_json to %j', async (body) => {
    const service = await serveStore();
    const { status, json } = await service.post('/v1/enrich', body);
    expect([status, json['code']]).toEqual([400, 'invalid_json']);
  });

  it('answers 400 to a request without a body', async () => {
    const service = await serveStore();
    expect((await service.request('/v1/enrich', { method: 'POST', headers: AUTH })).json['code']).toBe('invalid_json');
  });

  it('does not repeat the text of a body that is no JSON', async () => {
    const service = await serveStore();
    expect((await service.post('/v1/enrich', '{"email": jane@acme.example}')).text).not.toContain('jane');
  });

  it('answers 400 to an unknown query parameter, and names it', async () => {
    const service = await serveStore();
    const { status, json } = await service.post('/v1/enrich?emial=1', { id: 'pe_1' });
    expect([status, json['code']]).toEqual([400, 'unknown_parameter']);
    expect(json['errors']).toMatchObject([{ parameter: 'emial' }]);
    expect(json['instance']).toBe('/v1/enrich');
  });

  it('says where parameters belong when a path takes none', async () => {
    const service = await serveStore();
    expect((await service.post('/v1/enrich?fields=name', { id: 'pe_1' })).json['detail']).toMatch(/takes none: send fields in the body$/);
    expect((await service.request('/v1/companies/acme.example?fields=name', { headers: AUTH })).json['detail']).toMatch(/takes none$/);
  });

  it('answers 404 with the path that was probably meant', async () => {
    const service = await serveStore();
    const meant: Readonly<Record<string, string | null>> = {
      '//v1/enrich': '/v1/enrich',
      '/v1/enrich/': '/v1/enrich',
      '/V1/Enrich': '/v1/enrich',
      '/v1/enrichment': '/v1/enrich',
      '/v1/companies//acme.example/': '/v1/companies/acme.example',
      '/v1/contact/search': '/v1/contacts/search',
      '/nothing-like-it': null,
    };
    for (const [instance, near] of Object.entries(meant)) {
      expect((await service.request(instance, { headers: AUTH })).json).toMatchObject({
        status: 404,
        code: 'not_found',
        instance,
        detail: `there is no such path; ${near === null ? 'the reference is at /docs' : `did you mean ${near}?`}`,
      });
    }
  });

  it('answers 413 over 1 MiB, and not at 1 MiB', async () => {
    const service = await serveStore();
    const body = (bytes: number): string => `{"id":"${'x'.repeat(bytes - 9)}"}`;
    expect((await service.post('/v1/enrich', body(1024 * 1024))).json['code']).toBe('validation_failed');
    const { status, json, headers } = await service.post('/v1/enrich', body(1024 * 1024 + 1));
    expect([status, json['code'], headers.get('x-credits-charged')]).toEqual([413, 'payload_too_large', '0']);
  });

  it.each([
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'nonsense' },
    { 'content-encoding': 'gzip' },
  ])('answers 415 to %j', async (headers) => {
    const service = await serveStore();
    expect((await service.post('/v1/enrich', '{}', { headers: headers as unknown as Record<string, string> })).json['code']).toBe(
      'unsupported_media_type',
    );
  });

  it('answers 421 to a key of another region, and names the region', async () => {
    const store = await makeStore();
    const service = await serveStore({ store, region: 'eu' });
    const { status, json } = await service.post('/v1/enrich', { id: 'pe_1' }, { key: await makeKey(store, 'growth', { region: 'apac' }) });
    expect([status, json['code']]).toEqual([421, 'wrong_region']);
    expect(json['detail']).toContain('apac');
  });

  it('answers 429 with Retry-After when the quota is used up', async () => {
    const service = await serveStore({ rpm: 2 });
    await service.post('/v1/enrich', { id: 'pe_1' });
    await service.post('/v1/emails/verify', { emails: Array.from({ length: 1000 }, () => 'a@acme.example') });
    const { status, json, headers } = await service.post('/v1/enrich', { id: 'pe_1' });
    expect([status, json['code'], json['retryable']]).toEqual([429, 'rate_limited', true]);
    // One request flows in every 30 s. A part of that time may be over.
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(30);
    expect(headers.get('x-ratelimit-remaining')).toBe('0');
  });

  it('answers a problem document to input that is no HTTP, and to headers without end', async () => {
    const service = await serveStore();
    expect(await raw(service, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 .*x-credits-charged: 0.*"code":"invalid_parameter"/s);
    expect(await raw(service, `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 .*"code":"headers_too_large"/s,
    );
  });

  it('never answers 500, whatever a client sends', async () => {
    const service = await serveStore();
    const field = fc.constantFrom(
      'email',
      'domain',
      'id',
      'emails',
      'fields',
      'required',
      'min_likelihood',
      'mode',
      'max_age_s',
      'requests',
      'linkedin_url',
      'phone',
      'name',
      'title',
      'near',
      'headcount',
      'cursor',
      'sort',
      '__proto__',
      'constructor',
      'toString',
    );
    const body = fc.oneof(
      fc.json(),
      fc
        .dictionary(field, fc.oneof(fc.jsonValue(), fc.array(fc.string({ unit: 'binary' })), fc.string({ unit: 'binary' })))
        .map((value) => JSON.stringify(value)),
      fc.constant('['.repeat(100_000)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('/v1/enrich', '/v1/emails/verify', '/v1/enrich/bulk', '/v1/contacts/reveal', '/v1/contacts/search'),
        body,
        async (path, sent) => {
          const reply = await service.post(path, sent);
          expect([200, 400, 404, 422, 451]).toContain(reply.status);
          if (reply.status !== 200)
            expect(reply.json).toMatchObject({ status: reply.status, request_id: reply.headers.get('x-request-id') });
        },
      ),
      { numRuns: casesOf(75, 300) },
    );
    const parameter = fc.constantFrom(
      'q',
      'title',
      'near',
      'headcount',
      'updated_since',
      'domain',
      'type',
      'since',
      'cursor',
      'limit',
      'sort',
      'fields',
      'linkedin_url',
      '__proto__',
      'country',
    );
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('1-', '-', '1e9-', '-9999999999999999-', 'W10', '0', '2026-01-01', ','.repeat(2_000)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('/v1/contacts/search', '/v1/signals', '/v1/companies/x.example'),
        fc.array(fc.tuple(parameter, value), { maxLength: 4 }),
        async (path, parameters) => {
          const reply = await service.request(
            `${path}?${parameters.map(([name, text]) => `${name}=${encodeURIComponent(text.toWellFormed())}`).join('&')}`,
            { headers: AUTH },
          );
          // Three lists of commas are more than headers may have.
          expect([200, 400, 404, 431]).toContain(reply.status);
        },
      ),
      { numRuns: casesOf(50, 200) },
    );
    const afterwards = await service.request('/readyz', { headers: JSON_AUTH });
    expect(afterwards.json).toEqual({ status: 'ok' });
  });
});
