import { describe, expect, it } from 'vitest';
import { packageVersion } from '../../src/util/package-version.ts';
import { answer, bodyOf, EMAIL_BODY, makeClient, PERSON_TEXT, serve, serveCanned } from './servers.ts';

describe('a request of the client', () => {
  it('uses POST with the exact body and the headers of the contract', async () => {
    const seen: Record<string, unknown>[] = [];
    const url = await serve(async (request, response) => {
      seen.push({ method: request.method, url: request.url, body: await bodyOf(request), ...request.headers });
      answer(response, { status: 200, body: PERSON_TEXT });
    });
    const client = makeClient(`${url}/gateway/`, { apiKey: 'the-key', domainField: 'website' });
    await client.callEnrich(client.enrichBody({ email: 'é@acme.example' }), { idempotencyKey: 'once' });
    await client.callEnrich(client.enrichBody({ domain: 'acme.example' }));
    await client.callVerify(client.verifyBody(['b@acme.example', 'a@acme.example']));
    expect(seen[0]).toMatchObject({
      method: 'POST',
      url: '/gateway/v1/enrich',
      body: '{"email":"é@acme.example"}',
      authorization: 'Bearer the-key',
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'idempotency-key': 'once',
      'user-agent': `millrace/${packageVersion()}`,
    });
    expect(packageVersion()).toMatch(/^\d+\.\d+\.\d+/);
    expect(seen[1]).toMatchObject({ body: '{"website":"acme.example"}' });
    expect(seen[1]).not.toHaveProperty('idempotency-key');
    expect(seen[2]).toMatchObject({ url: '/gateway/v1/emails/verify', body: '{"emails":["b@acme.example","a@acme.example"]}' });
  });

  it('uses GET without a body for a company, and POST for a contact', async () => {
    const seen: Record<string, unknown>[] = [];
    const url = await serve(async (request, response) => {
      seen.push({ method: request.method, url: request.url, body: await bodyOf(request), ...request.headers });
      answer(response, { status: 200, body: '{"name":"Acme","mobile":"+12125550100"}' });
    });
    const client = makeClient(`${url}/gateway`, { apiKey: 'the-key' });
    expect(await client.company('acme.example/../x')).toEqual({ name: 'Acme', mobile: '+12125550100' });
    expect(await client.reveal({ linkedin_url: 'https://www.linkedin.com/in/ada' }, { idempotencyKey: 'once' })).toMatchObject({
      mobile: '+12125550100',
    });
    expect(seen[0]).toMatchObject({
      method: 'GET',
      url: '/gateway/v1/companies/acme.example%2F..%2Fx',
      body: '',
      authorization: 'Bearer the-key',
      accept: 'application/json',
    });
    for (const name of ['content-type', 'content-length', 'transfer-encoding', 'idempotency-key']) expect(seen[0]).not.toHaveProperty(name);
    expect(seen[1]).toMatchObject({
      method: 'POST',
      url: '/gateway/v1/contacts/reveal',
      body: '{"linkedin_url":"https://www.linkedin.com/in/ada"}',
      'content-type': 'application/json',
      'idempotency-key': 'once',
    });
  });

  it('carries no Authorization without a key', async () => {
    let headers: object = {};
    const url = await serve((request, response) => {
      headers = request.headers;
      answer(response, { status: 200, body: PERSON_TEXT });
    });
    await makeClient(url, { apiKey: null, userAgent: 'mine/1' }).callEnrich(EMAIL_BODY);
    expect(headers).toMatchObject({ 'user-agent': 'mine/1' });
    expect(headers).not.toHaveProperty('authorization');
  });

  it('goes out once: the client repeats nothing and follows no redirect', async () => {
    let requests = 0;
    const url = await serve((_request, response) => {
      requests += 1;
      answer(response, { status: requests === 1 ? 307 : 500, headers: { location: '/elsewhere' } });
    });
    const client = makeClient(url);
    expect((await client.callEnrich(EMAIL_BODY)).kind).toBe('wrong_address');
    expect((await client.callEnrich(EMAIL_BODY)).kind).toBe('retryable');
    expect(requests).toBe(2);
  });

  it('rejects when the idempotency key holds a line break', async () => {
    const client = makeClient(await serveCanned({ status: 200, body: PERSON_TEXT }));
    await expect(client.callEnrich(EMAIL_BODY, { idempotencyKey: 'a\r\nx-evil: 1' })).rejects.toThrow(/idempotency-key/);
    expect((await client.callEnrich(EMAIL_BODY)).kind).toBe('ok');
  });

  it('waits when all allowed sockets are in use', async () => {
    const sockets = new Set<unknown>();
    const url = await serve((request, response) => {
      sockets.add(request.socket);
      answer(response, { status: 200, body: PERSON_TEXT });
    });
    const client = makeClient(url, { connections: 3 });
    const results = await Promise.all(Array.from({ length: 50 }, () => client.callEnrich(EMAIL_BODY)));
    expect(results.every((result) => result.kind === 'ok')).toBe(true);
    expect(sockets.size).toBeLessThanOrEqual(3);
  });
});

describe('the meta data of an answer', () => {
  it('holds the headers, the request id and the credits', async () => {
    const url = await serveCanned({
      status: 200,
      body: PERSON_TEXT,
      headers: { 'X-Request-Id': 'req_1', 'X-Credits-Charged': '2', 'X-RateLimit-Remaining': '9' },
    });
    const { meta } = await makeClient(url).callEnrich(EMAIL_BODY);
    expect(meta).toMatchObject({ status: 200, requestId: 'req_1', credits: 2, headers: { 'x-ratelimit-remaining': '9' } });
  });

  it('takes the request id from the body when the headers have none, and bounds its length', async () => {
    const id = 'r'.repeat(5000);
    for (const canned of [
      { status: 422, body: JSON.stringify({ request_id: id }) },
      { status: 200, body: JSON.stringify({ name: 'A', request_id: id }) },
    ]) {
      const { meta } = await makeClient(await serveCanned(canned)).callEnrich(EMAIL_BODY);
      expect(meta.requestId).toMatch(/^r{199}…$/);
      expect(meta.credits).toBe(0);
    }
  });

  it.each(['-1', 'many', 'NaN', 'Infinity', ''])('has 0 credits for the header value %j', async (value) => {
    const url = await serveCanned({ status: 200, body: PERSON_TEXT, headers: { 'x-credits-charged': value } });
    expect((await makeClient(url).callEnrich(EMAIL_BODY)).meta.credits).toBe(0);
  });
});
