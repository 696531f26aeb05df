/** The key of a provider appears only in the request. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { RotatingKey } from '../../../src/client/rotating-key.ts';
import type { Authentication } from '../../../src/providers/compiled-provider.ts';
import { answer, serve } from '../../client/servers.ts';
import { declaredClient, KEY, type OperationText } from './declared.ts';

/** The text that a log, a debugger or an error report would show. */
function everything(value: unknown): string {
  return (
    inspect(value, { depth: Infinity, showHidden: true, getters: true, maxStringLength: null, maxArrayLength: null }) +
    JSON.stringify(value)
  );
}

const AUTHENTICATIONS: readonly Authentication[] = [
  { kind: 'bearer' },
  { kind: 'header', name: 'x-api-key', prefix: 'Key ' },
  { kind: 'query', name: 'api_key' },
  { kind: 'body', name: 'api_key', query: 'api_key' },
  { kind: 'basic', user: 'someone', password: null },
  { kind: 'basic', user: null, password: '' },
];

/** A provider that sends the request back, with the key in each form, wherever it can. */
const serveEcho = (status: number): Promise<string> =>
  serve((request, response) => {
    const { url = '', headers } = request;
    const sent = `${url} ${headers.authorization ?? ''} ${String(headers['x-api-key'])} ${KEY} ${url.toLowerCase()}`;
    const escaped = JSON.stringify(sent).replaceAll('s', '\\u0073');
    const body = `{"name":${JSON.stringify(sent)},"title":${escaped},"code":"c_${KEY}","message":${escaped},"id":${JSON.stringify(sent)},
      "list":[{"name":${escaped}}]}`;
    const echoes = {
      'x-request-id': sent,
      'x-echo': sent,
      'set-cookie': ['a=1', sent],
      location: `https://x.example${url}`,
      'retry-after': '1',
    };
    answer(response, { status, body, headers: echoes });
  });

describe.each(AUTHENTICATIONS)('with %j', (authentication) => {
  const enrich: OperationText = {
    answers: { code: 'body.code', message: 'body.message & headers.`x-echo`', pending: 'status = 202' },
    record: { name: 'body.name', title: 'body.title', headline: 'headers.`x-echo`' },
    poll: { ticket: 'body.id' },
    batch: { items: 'body.list', answers: { message: 'body.message' } },
  };

  it.each([200, 202, 302, 400, 401, 404, 429, 451, 500, 503])(
    'a provider that echoes the key leaks it into no result of a %i',
    async (status) => {
      const client = declaredClient(await serveEcho(status), { authentication, operations: { enrich } });
      const results = [
        await client.callEnrich('{"email":"a@x.example"}'),
        await client.batches?.call('enrich', ['{"email":"a@x.example"}']),
        client,
      ];
      const basic = authentication.kind === 'basic' ? [`${authentication.user ?? KEY}:${authentication.password ?? KEY}`] : [];
      const forms = [
        KEY,
        encodeURIComponent(KEY),
        encodeURIComponent(KEY).toLowerCase(),
        ...basic.map((pair) => Buffer.from(pair).toString('base64')),
      ];
      for (const form of forms) expect(everything(results)).not.toContain(form);
      // Half a key at the edge of a cut text is a leak as well.
      expect(everything(results)).not.toContain(KEY.slice(0, 9));
      expect(everything(results[0])).toContain('[redacted]');
    },
  );

  it.each([
    ['a mapping that throws', { record: { name: '$number(body.name)' } }],
    ['a mapping that throws its input', { record: { name: '$error(body.name)' } }],
    ['a wrong type', { record: { verified: 'body.name' } }],
    ['a rule that gives text', { answers: { miss: 'body.name' } }],
  ])('%s does not show the key', async (_what, operation) => {
    const client = declaredClient(await serveEcho(200), { authentication, operations: { enrich: operation } });
    const result = await client.callEnrich('{"email":"a@x.example"}');
    expect(result).toMatchObject({ kind: 'rejected' });
    expect(everything(result)).not.toContain(KEY);
    expect(everything(result)).not.toContain(encodeURIComponent(KEY));
  });
});

it('a key that is too short to be told from data is masked in every message', async () => {
  const url = await serve((_request, response) => answer(response, { status: 200, body: '{"name":"key k_7x refused","verified":"k_7x"}' }));
  const short = { apiKey: new RotatingKey('k_7x') };
  const operations: readonly OperationText[] = [
    { answers: { refused: 'true', message: 'body.name' } },
    { answers: { refused: 'true', code: 'body.verified', message: '"none"' } },
    { record: { name: '$error(body.name)' } },
    { record: { verified: 'body.verified' } },
  ];
  for (const enrich of operations) {
    const result = await declaredClient(url, { operations: { enrich } }, short).callEnrich('{"email":"a@x.example"}');
    expect(result).toMatchObject({ kind: 'rejected' });
    // The answer for the ledger is data, in which so short a key cannot be told from other text.
    expect(everything({ ...result, stored: null })).not.toContain('k_7x');
  }
});

it('a connection that fails does not show the key', async () => {
  const authentication = { kind: 'query', name: 'api_key' } as const;
  const client = declaredClient('http://127.0.0.1:1', { authentication, operations: { enrich: {} } });
  expect(everything(await client.callEnrich('{"email":"a@x.example"}'))).not.toContain(encodeURIComponent(KEY));
});

it('a new key is masked as well as the old one, and each call tells which it carried', async () => {
  const keys = ['second-key-0123456789'];
  const apiKey = new RotatingKey(KEY, { readAgain: async () => keys[0] ?? '', wait: async () => {} });
  const client = declaredClient(await serveEcho(401), { operations: { enrich: {} } }, { apiKey });
  expect(await client.callEnrich('{"email":"a@x.example"}')).toMatchObject({ kind: 'denied', keyVersion: 1 });
  await apiKey.renew(1);
  const result = await client.callEnrich('{"email":"a@x.example"}');
  expect(result).toMatchObject({ kind: 'denied', keyVersion: 2 });
  expect(everything(result)).not.toContain('second-key');
  expect(everything(result)).not.toContain(KEY);
});
