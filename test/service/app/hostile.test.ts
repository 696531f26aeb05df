/**
 * Input that no client sends by accident: no HTTP, half of it, too much of it. Each gets a problem document, and none makes the service
 * fail, stop or work for long.
 */
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import * as fc from '../../support/fast-check.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { words } from '../../../src/service/records/normalise.ts';
import { ENRICH_BODY } from '../../../src/service/lookups/enrich-operations.ts';
import { profileKey } from '../../../src/verification/profile-url.ts';
import { startService, type RunningService } from '../../../src/service/app/start-service.ts';
import { BodyReader } from '../../../src/service/http/body-reader.ts';
import { checkSyntax } from '../../../src/verification/syntax.ts';
import { casesOf } from '../../support/sample.ts';
import { KEY, makeStore } from '../harness.ts';

const AUTH = `Authorization: Bearer ${KEY}\r\n`;
const CLOSE = 'Connection: close\r\n';
const MANY = 20_000;

let service: RunningService;
const bugs: unknown[] = [];
beforeAll(async () => {
  service = await startService({
    store: await makeStore(),
    embeddedKey: { key: KEY, rpm: null },
    mail: { world: { hosts: {}, domains: {} } },
    log: { write: (_level, entry) => void (entry['event'] === 'bug' && bugs.push(entry)), line: () => undefined, takes: () => false },
  });
});
afterAll(async () => {
  await service.close();
  expect(bugs).toEqual([]);
});

interface Heard {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Sends bytes as they are (a character each), and reads the first answer until the connection is closed. */
async function raw(bytes: string | Buffer): Promise<Heard | null> {
  const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
  // It may be closed before everything is sent.
  socket.on('error', () => undefined);
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  const answer = await buffer(socket).catch(() => Buffer.alloc(0));
  socket.destroy();
  const end = answer.indexOf('\r\n\r\n');
  const head = answer.subarray(0, Math.max(0, end)).toString('latin1');
  const [line = '', ...fields] = head.split('\r\n');
  if (line === '') return null;
  const headers = new Headers(
    fields.map((field) => [field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 1).trim()] as [string, string]),
  );
  const length = headers.get('content-length');
  // There may be a second answer behind the first.
  return {
    status: Number(line.split(' ')[1]),
    headers,
    text: answer.subarray(end + 4, length === null ? answer.length : end + 4 + Number(length)).toString('utf8'),
  };
}

/** The same with the problem of the answer. */
async function refusal(bytes: string): Promise<{ readonly status: number | undefined; readonly json: unknown }> {
  const heard = await raw(bytes);
  return { status: heard?.status, json: heard?.text.startsWith('{') === true ? (JSON.parse(heard.text) as unknown) : null };
}

const post = (body: string, path = '/v1/enrich', more = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${AUTH}${CLOSE}Content-Type: application/json\r\n` +
  `Content-Length: ${body.length}\r\n${more}\r\n${body}`;
const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${AUTH}${CLOSE}${more}\r\n`;
const framed = (head: string, body: string): string =>
  `POST /v1/enrich HTTP/1.1\r\nHost: x\r\n${AUTH}Content-Type: application/json\r\n${head}\r\n\r\n${body}`;
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

const CASES: readonly (readonly [name: string, bytes: string | Buffer, status: number, code: string])[] = [
  ['no HTTP', 'nonsense\r\n\r\n', 400, 'invalid_parameter'],
  ['TLS', Buffer.from('16030102000100000001fc0303', 'hex'), 400, 'invalid_parameter'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'invalid_parameter'],
  ['an unknown version', 'GET /v1/signals HTTP/9.9\r\n\r\n', 400, 'invalid_parameter'],
  ['an unknown method', 'BREW /v1/enrich HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'invalid_parameter'],
  ['a method of others', `PROPFIND /v1/enrich HTTP/1.1\r\nHost: x\r\n${AUTH}${CLOSE}\r\n`, 405, 'method_not_allowed'],
  ['a tunnel', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'method_not_allowed'],
  ['no target', `OPTIONS * HTTP/1.1\r\nHost: x\r\n${CLOSE}\r\n`, 404, 'not_found'],
  ['no host', `GET /v1/signals HTTP/1.1\r\n${AUTH}${CLOSE}\r\n`, 400, 'invalid_parameter'],
  ['two hosts', get('/v1/signals', 'host: y\r\n'), 400, 'invalid_parameter'],
  ['a zero byte in a header', get('/v1/signals', 'X: a\0b\r\n'), 400, 'invalid_parameter'],
  ['a folded header', get('/v1/signals', 'X: a\r\n b\r\n'), 400, 'invalid_parameter'],
  ['a space before the colon', 'GET / HTTP/1.1\r\nHost : x\r\n\r\n', 400, 'invalid_parameter'],
  ['bare line feeds', get('/v1/signals').replaceAll('\r', ''), 400, 'invalid_parameter'],
  ['a long header', get('/v1/signals', `X: ${'y'.repeat(MANY)}\r\n`), 431, 'headers_too_large'],
  ['a flood of headers', get('/v1/signals', 'a: b\r\n'.repeat(MANY)), 431, 'headers_too_large'],
  ['a long address', get(`/${'a'.repeat(MANY)}`), 431, 'headers_too_large'],
  ['a body longer than it says', framed('Content-Length: 2', '{}nonsense'), 400, 'invalid_parameter'],
  ['a length below zero', framed('Content-Length: -5', '{}'), 400, 'invalid_parameter'],
  ['a length beyond numbers', framed(`Content-Length: ${'9'.repeat(30)}`, '{}'), 400, 'invalid_parameter'],
  ['a length of gigabytes', framed('Content-Length: 2000000000', '{}'), 413, 'payload_too_large'],
  ['two lengths', framed('Content-Length: 2\r\nContent-Length: 3', '{}'), 400, 'invalid_parameter'],
  ['a length and chunks', framed('Content-Length: 2\r\nTransfer-Encoding: chunked', '2\r\n{}\r\n0\r\n\r\n'), 400, 'invalid_parameter'],
  ['an encoding that is none', framed('Transfer-Encoding: gzip', '{}'), 400, 'invalid_parameter'],
  ['chunks of rubbish', framed('Transfer-Encoding: chunked', 'zz\r\n{}\r\n0\r\n\r\n'), 400, 'invalid_parameter'],
  ['a chunk beyond numbers', framed('Transfer-Encoding: chunked', `${'f'.repeat(18)}\r\n{}`), 400, 'invalid_parameter'],
  ['chunks without end', framed('Transfer-Encoding: chunked', `200000\r\n${'x'.repeat(0x20_0000)}`), 413, 'payload_too_large'],
  ['a flood of trailers', framed('Transfer-Encoding: chunked', `2\r\n{}\r\n0\r\n${'x: y\r\n'.repeat(MANY)}\r\n`), 431, 'headers_too_large'],
  ['a body for another method', post('{', '/v1/enrich').replace('POST', 'DELETE'), 405, 'method_not_allowed'],
  ['a body for no path', framed('Content-Length: 2000000000', '{').replace('/v1/enrich', '/v1/nope'), 404, 'not_found'],
  ['no UTF-8', post('{"id":"\xff\xfe"}'), 400, 'invalid_json'],
  ['overlong UTF-8', post('{"id":"\xc0\x80"}'), 400, 'invalid_json'],
  ['half a character', post('{"id":"\\ud800"}'), 404, 'no_match'],
  ['a zero byte', post('{"id":"\0"}'), 400, 'invalid_json'],
  ['a zero character', post('{"id":"\\u0000"}'), 404, 'no_match'],
  ['a prototype', post('{"__proto__":{"id":"pe_1"}}'), 422, 'validation_failed'],
  ['a constructor', post('{"constructor":{"prototype":{"id":"pe_1"}}}'), 422, 'validation_failed'],
  ['a number beyond numbers', post('{"id":"x","min_likelihood":1e999}'), 422, 'validation_failed'],
  ['depth without end', post('['.repeat(MANY)), 400, 'invalid_json'],
  ['a deep value', post(`{"id":${nested(MANY)}}`), 422, 'validation_failed'],
  ['deep metadata', post(`{"requests":[{"params":{},"metadata":${nested(MANY)}}]}`, '/v1/enrich/bulk'), 422, 'validation_failed'],
  ['deep metadata of a job', post(`{"operation":"enrich","metadata":{"a":${nested(MANY)}}}`, '/v1/batches'), 422, 'validation_failed'],
  ['a deep filter', post(`{"title":${nested(MANY)}}`, '/v1/contacts/search'), 422, 'validation_failed'],
  ['a path that does not decode', get('/v1/companies/%ff'), 400, 'invalid_parameter'],
  ['a path with a zero', get('/v1/companies/%00'), 400, 'invalid_parameter'],
  ['a path upwards', get('/v1/companies/..%2f..%2fhealthz'), 400, 'invalid_parameter'],
  ['a path of another case', get('/V1/signals'), 404, 'not_found'],
  ['bytes in a path', get('/v1/\xff'), 400, 'invalid_parameter'],
  ['a query that does not decode', get('/v1/signals?type=%zz'), 400, 'invalid_parameter'],
  ['a query for the prototype', get('/v1/signals?__proto__=1'), 400, 'unknown_parameter'],
  ['a query without a name', get('/v1/signals?=1'), 400, 'unknown_parameter'],
  ['a query with brackets', get('/v1/signals?type[__proto__]=1'), 400, 'unknown_parameter'],
  ['a parameter twice', get('/v1/signals?limit=1&limit=1'), 400, 'invalid_parameter'],
  ['digits of another script', get('/v1/signals?limit=%D9%A3'), 400, 'invalid_parameter'],
  [
    "a cursor of somebody else's making",
    get(`/v1/signals?cursor=${Buffer.from('[null,1e999]').toString('base64url')}`),
    400,
    'invalid_parameter',
  ],
  ['two event ids', get('/v1/signals', 'Accept: text/event-stream\r\nLast-Event-ID: 1\r\nLast-Event-ID: 2\r\n'), 400, 'invalid_parameter'],
  ['a key of bytes', get('/v1/signals').replace(KEY, '\xff\xfe'), 401, 'unauthorized'],
];

describe('the service', () => {
  it.each(CASES)('answers %s', async (_name, bytes, status, code) => {
    const heard = await raw(bytes);
    expect(heard).toMatchObject({ status });
    if (heard === null) return;
    expect(JSON.parse(heard.text)).toMatchObject({ status, code, request_id: heard.headers.get('x-request-id') });
    expect(heard.headers.get('content-type')).toBe('application/problem+json');
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit-policy', 'ratelimit'])
      expect(heard.headers.get(name), name).not.toBeNull();
    expect(heard.headers.get('x-credits-charged')).toBe('0');
  });

  it('takes 100-continue, and refuses every other expectation with 417, on every route', async () => {
    for (const expected of ['200-maybe', '100-continue, 200-maybe', 'x']) {
      for (const sent of [
        post('{"id":"pe_1"}', '/v1/enrich', `Expect: ${expected}\r\n`),
        get('/healthz', `Expect: ${expected}\r\n`),
        get('/no/such', `Expect: ${expected}\r\n`),
      ])
        expect(await refusal(sent), sent).toMatchObject({ status: expected.startsWith('100') ? 100 : 417 });
    }
    expect(await refusal(post('{"id":"pe_1"}', '/v1/enrich', 'Expect: 200-maybe\r\n'))).toMatchObject({
      status: 417,
      json: { code: 'expectation_failed', errors: [{ parameter: 'Expect' }] },
    });
    expect(await refusal(post('{"id":"pe_1"}', '/v1/enrich', 'Expect: 100-Continue\r\n'))).toMatchObject({ status: 100 });
    // RFC 9110 10.1.1: a server ignores the header of a request of HTTP/1.0.
    expect(await refusal('GET /healthz HTTP/1.0\r\nExpect: x\r\n\r\n')).toMatchObject({ status: 200 });
  });

  it('refuses a request of HTTP/1.1 without Host on every route, and one with two', async () => {
    for (const path of ['/healthz', '/openapi.json', '/v1/signals', '/no/such', '/v1/%zz']) {
      expect(await refusal(`GET ${path} HTTP/1.1\r\nConnection: close\r\n\r\n`), path).toMatchObject({
        status: 400,
        json: { code: 'invalid_parameter' },
      });
      expect(await refusal(`GET ${path} HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n`), path).toMatchObject({ status: 400 });
    }
  });

  it('refuses percent-encoding that is not UTF-8, in path and query, on every route', async () => {
    for (const bad of ['%', '%z', '%zz', '%ff', '%c0%af', '%e0%80%af', '%ed%a0%80', '%f5%80%80%80', 'a%2']) {
      for (const target of [
        `/v1/companies/${bad}`,
        `/v1/batches/${bad}`,
        `/v1/webhooks/${bad}/deliveries`,
        `/${bad}`,
        `/v1/signals?type=${bad}`,
        `/v1/signals?${bad}=1`,
        `/v1/contacts/search?q=${bad}`,
        `/healthz?a=${bad}`,
        `/no/such?a=${bad}`,
      ]) {
        const answer = await refusal(get(target));
        expect([target, answer]).toEqual([
          target,
          expect.objectContaining({
            status: 400,
            json: expect.objectContaining({
              code: 'invalid_parameter',
              detail: `the ${target.includes('?') ? 'query' : 'path'} is not properly percent-encoded (UTF-8)`,
            }),
          }),
        ]);
      }
    }
  });

  it('refuses unknown query parameters, also at probes, and parameters that are given twice', async () => {
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs'])
      expect(await refusal(get(`${path}?verbose=1`)), path).toMatchObject({
        status: 400,
        json: { code: 'unknown_parameter', errors: [{ parameter: 'verbose' }] },
      });
    for (const query of [
      '/v1/signals?limit=1&limit=2',
      '/v1/contacts/search?sort=name&sort=name',
      '/v1/batches?cursor=a&cursor=b',
      '/v1/batches/x/results?set=failed&set=failed',
      '/v1/webhooks/x/deliveries?limit=1&limit=1',
    ]) {
      expect(await refusal(get(query)), query).toMatchObject({
        status: 400,
        json: { code: 'invalid_parameter', errors: [{ code: 'repeated' }] },
      });
    }
    expect(await refusal(get('/v1/signals', 'Last-Event-ID: x\r\n'))).toMatchObject({
      status: 400,
      json: { errors: [{ parameter: 'Last-Event-ID' }] },
    });
  });

  it('never fails on bytes that were changed in transit', async () => {
    const whole = [
      post('{"email":"jane.doe@acme.example"}'),
      get('/v1/contacts/search?title=cto&limit=1'),
      post('{"emails":["a@b.example"],"mode":"syntax"}', '/v1/emails/verify'),
    ];
    const change = fc.record({
      of: fc.constantFrom(...whole),
      at: fc.nat(),
      byte: fc.integer({ min: 0, max: 255 }),
      cut: fc.nat({ max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ of, at, byte, cut }) => {
        const place = at % of.length;
        // An end, so that nothing is waited for.
        const heard = await raw(
          Buffer.from(`${of.slice(0, place)}${String.fromCharCode(byte)}${of.slice(place + cut)}\r\n\r\n\0`, 'latin1'),
        );
        if (heard === null) return;
        expect(heard.status).not.toBe(500);
        if (heard.status >= 400) expect(JSON.parse(heard.text)).toMatchObject({ status: heard.status });
      }),
      { numRuns: casesOf(40, 150) },
    );
    expect(await raw(get('/readyz'))).toMatchObject({ status: 200 });
  });
});

// Were the work to grow with the square of the input, each of these would take minutes.
describe('linear time is enough', () => {
  it('for the words of a text of dots', () => {
    expect(words(`${'.'.repeat(1_000_000)} a`)).toEqual(['a']);
  });

  it('for a profile of slashes', () => {
    const url = `linkedin.com/in/${'/'.repeat(2_000)}x`;
    for (let n = 0; n < 10_000; n++) profileKey(url);
    expect(profileKey(url)).toBe('linkedin.com/in/x');
  });

  it('for an address of spaces or dots', () => {
    for (const [odd, times] of [
      [`x${' '.repeat(1_000)}x@b.example`, 10_000],
      [`${'.'.repeat(1_000)}x`, 20_000],
    ] as const) {
      for (let n = 0; n < times; n++) checkSyntax(odd);
      expect(checkSyntax(odd)).toMatchObject({ kind: 'invalid' });
    }
  });

  it('for a body of unknown fields, because suggestions end after a hundred', () => {
    let compared = 0;
    const properties = new Proxy(ENRICH_BODY.properties, { ownKeys: (fields) => (compared++, Reflect.ownKeys(fields)) });
    const reader = new BodyReader(Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`field_${n}`, 1])), { properties });
    expect(() => reader.finish()).toThrow(
      expect.objectContaining({ errors: expect.toSatisfy((errors: unknown[]) => errors.length === 100) as unknown[] }),
    );
    expect(compared).toBe(100);
  });
});
