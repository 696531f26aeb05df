/** The API key appears only in the request. */
import { inspect } from 'node:util';
import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { DataServiceError } from '../../src/client/data-service-error.ts';
import { Redactor } from '../../src/client/redactor.ts';
import { neverHangs } from '../support/never-hangs.ts';
import { answer, EMAIL_BODY, makeClient, serve } from './servers.ts';

const KEY = 'key_51x-very-secret';

/** The text that a log, a debugger or an error report would show. */
function everything(value: unknown): string {
  const shown = inspect(value, { depth: Infinity, showHidden: true, getters: true, maxStringLength: null, maxArrayLength: null });
  return shown + JSON.stringify(value) + String(value) + (value instanceof Error ? `${value.stack}${value.message}` : '');
}

/** A service that sends the request's own key back wherever it can. */
function serveEcho(status: number, body: (auth: string) => string): Promise<string> {
  return serve((request, response) => {
    const auth = request.headers.authorization ?? '';
    const headers = {
      'x-request-id': auth,
      'x-echo': auth,
      'set-cookie': ['a=1', auth],
      location: `https://x.example/${auth.slice(7)}`,
      'x-plain': '1',
    };
    answer(response, { status, body: body(auth), headers });
  });
}

/** The text with JSON escapes, so that it appears only in the parsed body. */
const escaped = (text: string): string => text.replaceAll('s', '\\u0073');

describe('a service that echoes the key', () => {
  const bodies: [string, (auth: string) => string][] = [
    ['in a problem', (auth) => JSON.stringify({ code: auth.slice(7), detail: `You sent ${auth}`, request_id: auth })],
    ['in an error object', (auth) => JSON.stringify({ error: { code: 'x', message: auth } })],
    ['in a text', (auth) => `no such thing: ${auth}`],
    ['escaped', (auth) => `{"code":"${escaped(auth.slice(7))}","message":"${escaped(auth)}"}`],
    ['escaped, at the edge of what is shown', (auth) => `{"message":"${'x'.repeat(280)} ${escaped(auth)}"}`],
    ['in a record', (auth) => JSON.stringify({ name: 'Ana', title: auth })],
    ['in a record, escaped', (auth) => `{"name":"Ana","title":"${escaped(auth)}","note":"\\\\${escaped(auth)}"}`],
    ['in a verdict, escaped', (auth) => `[{"email":"ana@acme.example","result":"risky","reason":"${escaped(auth)}"}]`],
    ['in a verdict', (auth) => JSON.stringify([{ email: 'ana@acme.example', result: 'risky', reason: auth }])],
  ];
  for (const status of [200, 302, 400, 401, 404, 409, 429, 451, 500, 503]) {
    it.each(bodies)(`does not leak it into a result (status ${status}, %s)`, async (_where, body) => {
      const client = makeClient(await serveEcho(status, body), { apiKey: KEY });
      const results = [
        await client.callEnrich(EMAIL_BODY),
        await client.callVerify('{"emails":["ana@acme.example"]}'),
        await client.enrich({ email: 'ana@acme.example' }).catch((error: unknown) => error),
        await client.verify(['ana@acme.example']).catch((error: unknown) => error),
        client,
      ];
      for (const result of results) {
        // Half a key at the edge of a cut text is a leak as well.
        expect(everything(result)).not.toContain(KEY.slice(0, 8));
        expect(everything(result)).not.toContain(KEY.slice(-8));
      }
      expect(results[0]).toMatchObject({ meta: { headers: { 'x-plain': '1', 'x-echo': 'Bearer [redacted]' } } });
    });
  }
});

it('a network error, a timeout and a misuse do not show the API key', async () => {
  const client = makeClient('http://127.0.0.1:1', { apiKey: KEY });
  expect(everything(await client.callEnrich(EMAIL_BODY))).not.toContain(KEY);
  const error: unknown = await client.enrich({ email: 'a@acme.example' }).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(DataServiceError);
  expect(everything(error)).not.toContain(KEY);
  const misuse: unknown = await client.callEnrich(EMAIL_BODY, { idempotencyKey: '\n' }).catch((e: unknown) => e);
  expect(misuse).toBeInstanceOf(Error);
  expect(everything(misuse)).not.toContain(KEY);
});

describe('the redactor', () => {
  it('masks a short key in messages, but not in data, where it may be a value', () => {
    const redactor = new Redactor('1000');
    expect(redactor.data('{"employees":1000}')).toBe('{"employees":1000}');
    expect(redactor.headers({ 'x-ratelimit-limit': '1000' })).toEqual({ 'x-ratelimit-limit': '1000' });
    expect(redactor.words('key 1000 refused')).toBe('key [redacted] refused');
  });

  it('masks a key of up to three characters only where it stands alone: it is a letter of every other word', () => {
    expect(new Redactor('k').words('the key "k" (x-key: k) is unknown to k.')).toBe(
      'the key "[redacted]" (x-key: [redacted]) is unknown to [redacted].',
    );
    expect(new Redactor('a.b').words('a.b axb ca.b')).toBe('[redacted] axb ca.b');
    expect(new Redactor('abcd').words('xabcdx')).toBe('x[redacted]x');
  });

  it('finds a key in JSON with any escapes, and leaves the rest unchanged', () => {
    const way = fc.constantFrom(
      (c: string) => JSON.stringify(c).slice(1, -1),
      (c: string) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
      (c: string) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`,
      (c: string) => (c === '/' ? '\\/' : JSON.stringify(c).slice(1, -1)),
    );
    const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
    const key = fc
      .array(fc.oneof(visible, fc.constantFrom('"', '\\', '/', 'u', '0')), { minLength: 12, maxLength: 24 })
      .map((parts) => parts.join(''));
    const around = fc.array(fc.oneof(fc.constantFrom('\\', '"', '\n', 'é'), visible), { maxLength: 6 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(key, fc.array(way, { minLength: 24, maxLength: 24 }), around, around, (secret, ways, before, after) => {
        const written = Array.from(secret, (character, i) => ways[i]?.(character) ?? '').join('');
        const text = `{"title":"${JSON.stringify(before).slice(1, -1)}${written}${JSON.stringify(after).slice(1, -1)}"}`;
        fc.pre((JSON.parse(text) as { title: string }).title.indexOf(secret) === before.length);
        expect(JSON.parse(new Redactor(secret).data(text))).toEqual({ title: `${before}[redacted]${after}` });
      }),
      { numRuns: 1_000 },
    );
  });

  it('does not mask text that only looks like the escaped key', () => {
    const text = JSON.stringify({ title: Array.from(KEY, (c) => `\\u00${c.charCodeAt(0).toString(16)}`).join('') });
    expect(new Redactor(KEY).data(text)).toBe(text);
  });

  it.each([
    ['backslashes', '\\\\'],
    ['escapes', '\\u0041'],
    ['keys that are cut off', '\\u006bey_'],
    ['parts of a key behind backslashes', `\\\\${KEY.slice(0, 5)}`],
  ])('reads a megabyte of %s and finds the key behind it', (_what, part) => {
    const title = part.repeat(2 ** 20 / part.length);
    expect(neverHangs(() => new Redactor(KEY).data(`{"title":"${title}${escaped(KEY)}"}`))).toBe(`{"title":"${title}[redacted]"}`);
  });

  it('returns the same headers object when it masks nothing', () => {
    const headers = { a: 'b', c: ['d'] };
    expect(new Redactor(KEY).headers(headers)).toBe(headers);
    expect(new Redactor(null).words(KEY)).toBe(KEY);
  });
});
