/** What goes over the wire, and what may go wrong there. */
import { createHash } from 'node:crypto';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { packageVersion } from '../../src/client/version.ts';
import { cleanUp } from '../support/clean-up.ts';
import { answer, bodyOf, EMAIL_BODY, makeClient, PERSON_TEXT, serve, serveCanned, serveRaw } from './servers.ts';

/** How a connection that begins with TLS begins. */
const TLS_HANDSHAKE = 0x16;

const head = (status: string, ...headers: string[]): string => [`HTTP/1.1 ${status}`, 'content-type: application/json', ...headers, '', ''].join('\r\n');

describe('the request', () => {
  it('is a POST of the exact body with the headers of the contract', async () => {
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
      method: 'POST', url: '/gateway/v1/enrich', body: '{"email":"é@acme.example"}', authorization: 'Bearer the-key',
      'content-type': 'application/json', accept: 'application/json', 'accept-encoding': 'identity', 'idempotency-key': 'once',
      'user-agent': `millrace/${packageVersion()}`,
    });
    expect(packageVersion()).toMatch(/^\d+\.\d+\.\d+/);
    expect(seen[1]).toMatchObject({ body: '{"website":"acme.example"}' });
    expect(seen[1]).not.toHaveProperty('idempotency-key');
    expect(seen[2]).toMatchObject({ url: '/gateway/v1/emails/verify', body: '{"emails":["b@acme.example","a@acme.example"]}' });
  });

  it('is a GET without body for a company, and a POST for a contact', async () => {
    const seen: Record<string, unknown>[] = [];
    const url = await serve(async (request, response) => {
      seen.push({ method: request.method, url: request.url, body: await bodyOf(request), ...request.headers });
      answer(response, { status: 200, body: '{"name":"Acme","mobile":"+12125550100"}' });
    });
    const client = makeClient(`${url}/gateway`, { apiKey: 'the-key' });
    expect(await client.company('acme.example/../x')).toEqual({ name: 'Acme', mobile: '+12125550100' });
    expect(await client.reveal({ linkedin_url: 'https://www.linkedin.com/in/ada' }, { idempotencyKey: 'once' })).toMatchObject({ mobile: '+12125550100' });
    expect(seen[0]).toMatchObject({ method: 'GET', url: '/gateway/v1/companies/acme.example%2F..%2Fx', body: '', authorization: 'Bearer the-key', accept: 'application/json' });
    for (const name of ['content-type', 'content-length', 'transfer-encoding', 'idempotency-key']) expect(seen[0]).not.toHaveProperty(name);
    expect(seen[1]).toMatchObject({ method: 'POST', url: '/gateway/v1/contacts/reveal', body: '{"linkedin_url":"https://www.linkedin.com/in/ada"}', 'content-type': 'application/json', 'idempotency-key': 'once' });
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

  it('is never repeated and never redirected', async () => {
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

  it('that cannot be put on the wire rejects: a line break in the idempotency key', async () => {
    const client = makeClient(await serveCanned({ status: 200, body: PERSON_TEXT }));
    await expect(client.callEnrich(EMAIL_BODY, { idempotencyKey: 'a\r\nx-evil: 1' })).rejects.toThrow(/idempotency-key/);
    expect((await client.callEnrich(EMAIL_BODY)).kind).toBe('ok');
  });

  it('uses no more sockets than allowed, and the rest wait', async () => {
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

describe('meta', () => {
  it('holds headers, request id and credits', async () => {
    const url = await serveCanned({ status: 200, body: PERSON_TEXT, headers: { 'X-Request-Id': 'req_1', 'X-Credits-Charged': '2', 'X-RateLimit-Remaining': '9' } });
    const { meta } = await makeClient(url).callEnrich(EMAIL_BODY);
    expect(meta).toMatchObject({ status: 200, requestId: 'req_1', credits: 2, headers: { 'x-ratelimit-remaining': '9' } });
  });

  it('takes the request id from the body where the headers have none, bounded', async () => {
    const id = 'r'.repeat(5000);
    for (const canned of [{ status: 422, body: JSON.stringify({ request_id: id }) }, { status: 200, body: JSON.stringify({ name: 'A', request_id: id }) }]) {
      const { meta } = await makeClient(await serveCanned(canned)).callEnrich(EMAIL_BODY);
      expect(meta.requestId).toMatch(/^r{199}…$/);
      expect(meta.credits).toBe(0);
    }
  });

  it.each(['-1', 'many', 'NaN', 'Infinity', ''])('reads %j credits as none', async (value) => {
    const url = await serveCanned({ status: 200, body: PERSON_TEXT, headers: { 'x-credits-charged': value } });
    expect((await makeClient(url).callEnrich(EMAIL_BODY)).meta.credits).toBe(0);
  });
});

describe('a hostile or broken service', () => {
  it('announces an answer and closes', async () => {
    const client = makeClient(await serveRaw((socket) => socket.end('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n')));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network', meta: { status: 0 } });
  });

  it('closes without an answer', async () => {
    const client = makeClient(await serveRaw((socket) => socket.end()));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network', meta: { status: 0, credits: 0, requestId: null } });
  });

  it('resets the connection', async () => {
    const client = makeClient(await serveRaw((socket) => socket.resetAndDestroy()));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network' });
  });

  it('resets a connection that was used before', async () => {
    const client = makeClient(await serveRaw((socket, count) => {
      if (count === 1) socket.write(`${head('200 OK', `content-length: ${PERSON_TEXT.length}`)}${PERSON_TEXT}`);
      else socket.resetAndDestroy();
    }), { connections: 1 });
    expect((await client.callEnrich(EMAIL_BODY)).kind).toBe('ok');
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network' });
  });

  it('is not there', async () => {
    const client = makeClient('http://127.0.0.1:1');
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network', detail: expect.stringMatching(/ECONNREFUSED/) });
  });

  it('has no name', async () => {
    const client = makeClient('http://no-such-host.invalid');
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network' });
  });

  it('closes each connection unanswered: one handshake asks whether it speaks TLS, however many calls fail', async () => {
    let handshakes = 0;
    const url = await serveRaw((socket, _count, data) => {
      if (data[0] === TLS_HANDSHAKE) handshakes++;
      socket.destroy();
    });
    const client = makeClient(url, { connections: 4 });
    const results = await Promise.all(Array.from({ length: 8 }, () => client.callEnrich(EMAIL_BODY)));
    results.push(await client.callEnrich(EMAIL_BODY));
    for (const result of results) expect(result).toMatchObject({ kind: 'retryable', code: 'network' });
    expect(handshakes).toBe(1);
  });

  it('says nothing to the handshake: the call ends when the client is destroyed', async () => {
    const asked = Promise.withResolvers<void>();
    const url = await serveRaw((socket, _count, data) => {
      if (data[0] === TLS_HANDSHAKE) asked.resolve();
      else socket.destroy();
    });
    const client = makeClient(url);
    const call = client.callEnrich(EMAIL_BODY);
    await asked.promise;
    await client.destroy();
    expect(await call).toMatchObject({ kind: 'retryable', code: 'network' });
    // Nobody but the client ends this handshake before three seconds are over.
  }, 2_500);

  it('speaks something else', async () => {
    const client = makeClient(await serveRaw((socket) => socket.end('220 mail.example ESMTP\r\n')));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network' });
  });

  it.each([
    ['a success', '200 OK', { kind: 'retryable', code: 'bad_body' }],
    ['a 404, which may have been a miss or not', '404 Not Found', { kind: 'retryable', code: 'network' }],
    ['a 401, which may be anything', '401 Unauthorized', { kind: 'retryable', code: 'network' }],
    ['a 429, which says enough', '429 Too Many', { kind: 'throttled', retryAfterMs: 3000 }],
    ['a 502, which says enough', '502 Bad Gateway', { kind: 'retryable', code: 'http_502' }],
  ])('breaks off half-way through %s', async (_what, status, expected) => {
    const client = makeClient(await serveRaw((socket) => socket.end(`${head(status, 'content-length: 500', 'retry-after: 3')}{"name":`)));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject(expected);
  });

  it('never answers', async () => {
    const client = makeClient(await serveRaw(() => {}), { timeoutMs: 60 });
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'timeout', meta: { status: 0 } });
  });

  it('stops in the middle', async () => {
    const client = makeClient(await serveRaw((socket) => socket.write(`${head('200 OK', 'content-length: 500')}{"na`)), { timeoutMs: 1_000 });
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'timeout', meta: { status: 200 } });
  });

  it.each(['headers', 'body'])('dribbles its %s for ever', async (part) => {
    const url = await serveRaw((socket) => {
      socket.write(part === 'body' ? head('200 OK', 'content-length: 100000') : 'HTTP/1.1 200 OK\r\nx-slow: ');
      const timer = setInterval(() => socket.write(' '), 10);
      socket.on('close', () => clearInterval(timer));
      cleanUp(() => clearInterval(timer));
    });
    const result = await makeClient(url, { timeoutMs: 100 }).callEnrich(EMAIL_BODY);
    expect(result).toMatchObject({ kind: 'retryable', code: 'timeout' });
  });

  it('sends a success without end: no more than the bound is read', async () => {
    let written = 0;
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = (): void => {
        while (!response.destroyed && response.write(' '.repeat(65_536))) written += 65_536;
        written += 65_536;
      };
      response.on('drain', more);
      more();
    });
    const result = await makeClient(url, { maxResponseBytes: 200_000 }).callEnrich(EMAIL_BODY);
    expect(result).toMatchObject({ kind: 'retryable', code: 'bad_body', detail: 'the answer is larger than 200000 bytes' });
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it('sends many that are each within the bound: all together no more is held than does no harm', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(Buffer.alloc(10 * 1024 * 1024, 0x20));
    });
    const client = makeClient(url, { timeoutMs: 6_000, connections: 12 });
    const results = await Promise.all(Array.from({ length: 12 }, () => client.callEnrich(EMAIL_BODY)));
    expect(results.filter((result) => 'detail' in result && result.detail === 'the answers under way are too large together').length).toBeGreaterThanOrEqual(6);
  });

  it('sends an error without end: its status decides', async () => {
    let written = 0;
    const url = await serve((_request, response) => {
      response.writeHead(403, { 'content-type': 'text/html' });
      const more = (): void => {
        do written += 65_536;
        while (!response.destroyed && response.write(`<title>No</title>${'x'.repeat(65_536)}`));
      };
      response.on('drain', more);
      more();
    });
    const client = makeClient(url, { maxResponseBytes: 512 * 1024 * 1024 });
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'denied', code: 'http_403', detail: 'No' });
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it('sends headers without end', async () => {
    const client = makeClient(await serveRaw((socket) => socket.write(`HTTP/1.1 200 OK\r\n${'x-a: b\r\n'.repeat(20_000)}`)));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network' });
  });

  it('sends informational answers first', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n';
    const client = makeClient(await serveRaw((socket) => socket.write(`${early}${early}${head('200 OK', `content-length: ${PERSON_TEXT.length}`)}${PERSON_TEXT}`)));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'ok', meta: { status: 200 } });
  });

  it('puts control characters and line breaks into its words', async () => {
    const body = JSON.stringify({ code: 'x;DROP', detail: `a\r\nb\u0000\u001b[31mc\u2028${'d'.repeat(1000)}` });
    const result = await makeClient(await serveCanned({ status: 400, body })).callEnrich(EMAIL_BODY);
    expect(result).toMatchObject({ kind: 'rejected', code: 'http_400', detail: expect.stringMatching(/^a b \[31mc d+…$/) });
    expect(result.kind === 'rejected' && result.detail.length).toBe(300);
  });

  it('nests a record beyond the stack', async () => {
    const deep = `{"name":"A","x":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    const client = makeClient(await serveCanned({ status: 200, body: deep }));
    // Its text fits a line as it stands; with a line break it would have to be written anew, and cannot.
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'ok', value: { text: deep } });
    const broken = makeClient(await serveCanned({ status: 200, body: deep.replace(',', ',\n') }));
    expect(await broken.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'bad_body' });
  });
});

describe('a body that is compressed although nobody asked', () => {
  const text = Buffer.from(PERSON_TEXT);
  const bomb = gzipSync(PERSON_TEXT.padStart(50_000_000));
  it.each([
    ['gzip', gzipSync(text)], ['x-gzip', gzipSync(text)], ['br', brotliCompressSync(text)], ['zstd', zstdCompressSync(text)],
    ['deflate', deflateSync(text)], ['deflate', deflateRawSync(text)], ['identity', text], ['GZIP', gzipSync(text)],
  ])('%s is read', async (coding, body) => {
    const client = makeClient(await serveCanned({ status: 200, body, headers: { 'content-encoding': coding } }));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'ok', value: { text: PERSON_TEXT } });
  });

  it.each([
    ['unknown', 'compress', text], ['stacked', 'gzip, br', text], ['damaged', 'gzip', text], ['a bomb', 'gzip', bomb], ['a name of Object’s', 'constructor', text],
  ])('%s is not', async (_what, coding, body) => {
    const headers = { 'content-encoding': coding };
    const ok = makeClient(await serveCanned({ status: 200, body, headers }));
    expect(await ok.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'bad_body' });
    const denied = makeClient(await serveCanned({ status: 401, body, headers }));
    expect(await denied.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'denied', code: 'http_401' });
  });
});

it('a large batch comes back whole, whatever the pieces it arrives in', async () => {
  const emails = Array.from({ length: 1000 }, (_, i) => `${createHash('sha256').update(`${i}`).digest('hex')}@acme.example`);
  const text = JSON.stringify({ data: emails.map((email) => ({ email, result: 'unknown' })) });
  const url = await serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    for (let at = 0; at < text.length; at += 7001) response.write(text.slice(at, at + 7001));
    response.end();
  });
  const verdicts = await makeClient(url).verify(emails);
  expect(verdicts.map((verdict) => verdict.email)).toEqual(emails);
});
