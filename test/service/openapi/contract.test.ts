/**
 * The service is held against its own document: to every operation what it allows, and what it does not. fast-check prints the seed of what
 * fails.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from '../../support/fast-check.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SAMPLE_KEY } from '../../../src/service/sample/sample-store.ts';
import { startService, type RunningService } from '../../../src/service/app/start-service.ts';
import { checkAnswer, DOCUMENT, type Json, valid, validatorAt } from '../answers.ts';
import { bodyOf, DESCRIBED, oddValues, validRequest, type Described } from './generate.ts';

let folder: string;
let service: RunningService;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-contract-'));
  // Its own: of the one that all runs of this machine share there is no whole copy while one of them writes.
  service = await startService({ store: join(folder, 'store.sqlite'), sample: true });
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly json: { readonly code?: string; readonly errors?: readonly Json[]; readonly detail?: string };
}

const AUTH = { authorization: `Bearer ${SAMPLE_KEY}` };
const JSON_AUTH = { ...AUTH, 'content-type': 'application/json' };

/** Sends, and holds the answer against the document. */
async function send(method: string, url: string, headers: Record<string, string>, body?: string): Promise<Reply> {
  const response = await fetch(service.url + url, { method, headers, redirect: 'manual', ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  checkAnswer(method, url, { status: response.status, headers: response.headers, text });
  expect(response.status, text).toBeLessThan(500);
  return { status: response.status, headers: response.headers, json: text.startsWith('{') ? (JSON.parse(text) as Reply['json']) : {} };
}

const sendBody = (method: string, url: string, body: unknown): Promise<Reply> => send(method, url, JSON_AUTH, JSON.stringify(body));

/** An address of the operation without a query. */
function plainUrl(described: Described): string {
  return fc.sample(validRequest(described), { numRuns: 1, seed: 1 })[0]?.url.split('?')[0] ?? '';
}

/** More values than one parameter takes. Headers, and with them the address, have 16 KiB. */
function tooMany(name: string, count: number): string {
  return count > 500 ? `${name}=${'a,'.repeat(count - 1)}a` : `${name}=a&`.repeat(count);
}

const ALL = DESCRIBED.map((described) => ({
  ...described,
  body: bodyOf(described.operation),
  query: (described.operation.parameters ?? []).filter((parameter) => parameter.in === 'query'),
}));

describe('every operation', () => {
  it.each(ALL)('answers valid requests as documented: $method $path', async (described) => {
    const { method, body, open } = described;
    await fc.assert(
      fc.asyncProperty(validRequest(described), async ({ url, body: sent, risky }) => {
        if (body !== null) expect(valid(validatorAt('components', 'schemas', body.name), sent), JSON.stringify(sent)).toBe(true);
        const { status, json } = body === null ? await send(method, url, AUTH) : await sendBody(method, url, sent);
        const fine = [200, 201, 202, 204, 304, 404, 451];
        expect(risky ? [...fine, 400, 422] : fine, `${url} ${JSON.stringify(sent)} ${JSON.stringify(json)}`).toContain(status);
        // A range may end before it begins, and the like. The service never reports another type or name.
        for (const { code } of json.errors ?? [])
          expect(['range', 'format', 'too_many', 'empty', 'not_for_event', 'invalid_cursor']).toContain(code);
        if (status === 404) expect(['no_match', 'not_found']).toContain(json.code);
      }),
      { numRuns: open ? 2 : 15 },
    );
  });

  it.each(ALL.filter(({ method }) => method === 'GET'))('answers HEAD like GET, without a body: $path', async (described) => {
    expect((await send('HEAD', plainUrl(described), AUTH)).status).toBe((await send('GET', plainUrl(described), AUTH)).status);
  });

  it.each(ALL)('refuses other methods, no key, unknown parameters and bad headers: $method $path', async (described) => {
    const { method, path, open, body, query } = described;
    const url = plainUrl(described);
    const taken = Object.keys(DOCUMENT.paths[path] ?? {})
      .map((one) => one.toUpperCase())
      .flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one]));
    for (const other of ['DELETE', 'PUT', 'PATCH', 'OPTIONS', 'GET', 'POST'].filter((one) => !taken.includes(one))) {
      const refused = await send(other, url, AUTH);
      expect([refused.status, refused.json.code, refused.headers.get('allow')?.split(', ').sort()]).toEqual([
        405,
        'method_not_allowed',
        taken.sort(),
      ]);
    }
    expect(await send(method, `${url}/no/such`, AUTH)).toMatchObject({ status: 404, json: { code: 'not_found' } });
    if (open) return;
    for (const headers of [{}, { authorization: 'Bearer nobody' }, { authorization: `Basic ${SAMPLE_KEY}` }])
      expect(await send(method, url, headers)).toMatchObject({ status: 401, json: { code: 'unauthorized' } });
    const [known] = query.map(({ name }) => name);
    const typo = known === undefined ? 'nonsense' : `${known}x`;
    const unknown = await send(method, `${url}?${typo}=1`, AUTH);
    expect(unknown).toMatchObject({ status: 400, json: { code: 'unknown_parameter', errors: [{ parameter: typo }] } });
    if (known !== undefined) expect(unknown.json.detail).toContain(`did you mean ${known}?`);
    if (body === null || method !== 'POST') return;
    for (const key of ['', 'x'.repeat(256), 'é'])
      expect(await send(method, url, { ...JSON_AUTH, 'idempotency-key': key }, '{}')).toMatchObject({
        status: 400,
        json: { code: 'invalid_parameter', errors: [{ parameter: 'Idempotency-Key' }] },
      });
  });

  it.each(ALL.filter(({ query }) => query.length > 0))(
    'refuses values of parameters that the document does not allow, naming the parameter: $method $path',
    async (described) => {
      const { method, query } = described;
      for (const { name, schema } of query) {
        const list = schema['items'] !== undefined;
        const one = (schema['items'] ?? schema) as Json;
        const isText = one['type'] === 'string' && one['enum'] === undefined && one['pattern'] === undefined && one['format'] === undefined;
        const values = isText
          ? []
          : [
              '',
              '?',
              'no-such-value',
              ...(one['type'] === 'integer' ? [String(Number(one['minimum']) - 1), String(Number(one['maximum']) + 1), '1.5', '1e1'] : []),
            ];
        const queries = [
          ...values.map((value) => `${name}=${encodeURIComponent(value)}`),
          ...(list ? [tooMany(name, Number(schema['maxItems']) + 1)] : [`${name}=1&${name}=2`]),
        ];
        for (const sent of [...queries, `${name}=`]) {
          const refused = await send(method, `${plainUrl(described)}?${sent}`, AUTH);
          expect([refused.status, refused.json.code], sent.slice(0, 100)).toEqual([400, 'invalid_parameter']);
          expect(refused.json.errors).toContainEqual(expect.objectContaining({ parameter: name }));
        }
      }
    },
  );

  it.each(ALL.filter(({ body }) => body !== null))(
    'refuses bodies that the document does not allow, pointing at what is wrong: $method $path',
    async (described) => {
      const { method, body } = described;
      const { name = '', schema = {} } = body ?? {};
      const holds = validatorAt('components', 'schemas', name);
      const properties = schema['properties'] as Readonly<Record<string, Json>>;
      const forms = (schema['oneOf'] ?? []) as readonly { readonly required: readonly string[] }[];
      const refuse = async (sent: unknown, pointer: string, wrong: string): Promise<void> => {
        expect(holds(sent), `${pointer} ${wrong}`).toBe(false);
        const { status, json } = await sendBody(method, plainUrl(described), sent);
        expect([status, json.code], `${pointer} ${wrong}: ${JSON.stringify(json)}`).toEqual([
          422,
          wrong === 'too many' && pointer === '/emails' ? 'too_many_emails' : 'validation_failed',
        ]);
        expect(
          json.errors?.some((error) => String(error['pointer']).startsWith(pointer)),
          `${pointer} ${wrong}: ${JSON.stringify(json)}`,
        ).toBe(true);
      };
      for (const [field, property] of Object.entries(properties)) {
        const form = forms.find(({ required }) => required.includes(field));
        const needed = form?.required ?? forms[0]?.required ?? ((schema['required'] ?? []) as readonly string[]);
        const rest = Object.fromEntries(needed.map((one) => [one, ((properties[one]?.['examples'] ?? []) as readonly unknown[])[0]]));
        const odd = oddValues(property).filter(({ value }) => !holds({ ...rest, [field]: value }));
        expect(odd.length, field).toBeGreaterThan(0);
        for (const { wrong, value } of odd) await refuse({ ...rest, [field]: value }, `/${field}`, wrong);
      }
      await refuse({ nonsense: 1 }, '/nonsense', 'unknown');
      for (const other of [[], 'text', 7, true, null]) await refuse(other, '', 'no object');
      if (forms.length > 0 || schema['required'] !== undefined) await refuse({}, '', 'missing');
    },
  );

  it.each(ALL.filter(({ body }) => body !== null))(
    'refuses bodies that are no JSON, too large, of another type, or compressed: $method $path',
    async (described) => {
      const { method } = described;
      const url = plainUrl(described);
      for (const text of ['', '{', 'nonsense', '{"a":1}}', '\u{feff}{}', '{"a":NaN}'])
        expect(await send(method, url, JSON_AUTH, text)).toMatchObject({ status: 400, json: { code: 'invalid_json' } });
      expect(await send(method, url, JSON_AUTH, `"${'x'.repeat(1024 * 1024)}"`)).toMatchObject({
        status: 413,
        json: { code: 'payload_too_large' },
      });
      for (const headers of [
        { 'content-type': 'text/plain' },
        { 'content-type': 'application/xml' },
        { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      ]) {
        expect(await send(method, url, { ...AUTH, ...headers }, '{}')).toMatchObject({
          status: 415,
          json: { code: 'unsupported_media_type' },
        });
      }
    },
  );
});
