import { Validator } from '@seriousme/openapi-schema-validator';
import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../src/service/http/problem.ts';
import { BULK_BODY, ENRICH_BODY, ENRICH_FORMS } from '../../../src/service/lookups/enrich-operations.ts';
import { OPERATIONS } from '../../../src/service/openapi/operations.ts';
import { BATCH_BODY, BATCH_CHANGE_BODY } from '../../../src/service/batches/batch-operations.ts';
import { REVEAL_BODY } from '../../../src/service/lookups/reveal-operation.ts';
import { WEBHOOK_BODY, WEBHOOK_CHANGE_BODY } from '../../../src/service/webhooks/webhook-operations.ts';
import { VERIFY_BODY } from '../../../src/service/verify/verify-operations.ts';
import { exampleRequests } from '../../../src/service/openapi/example-requests.ts';
import type { Body } from '../../../src/service/http/body-schema.ts';
import { readLookup, PERSON_FORMS } from '../../../src/service/lookups/find-person.ts';
import { BodyReader } from '../../../src/service/http/body-reader.ts';
import { sampleAnswers, steady } from '../../../fixtures/generate/answers.ts';
import { EVENT_TYPES } from '../../../src/service/webhooks/announcement.ts';
import { checkEvent, DOCUMENT, type Json, operationAt, responseAt, valid, validatorAt, type OperationObject } from '../answers.ts';
import { IMPORTED_COMPANY } from '../../../src/service/records/company-fields.ts';
import { IMPORTED_PERSON } from '../../../src/service/records/person-fields.ts';
import { loadCompanies, loadPeople, loadSignals } from '../../../src/service/store/rows/load.ts';
import { KEY, makeStore, serveStore, temporaryFolder } from '../harness.ts';

const operations = Object.entries(DOCUMENT.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation: operation as unknown as OperationObject })),
);

describe('the OpenAPI document', () => {
  it('conforms to OpenAPI 3.1', async () => {
    const { valid: good, errors } = await new Validator().validate(structuredClone(DOCUMENT) as unknown as Record<string, unknown>);
    expect([good, errors]).toEqual([true, undefined]);
    expect(DOCUMENT.openapi).toBe('3.1.0');
  });

  it('lists every operation once, and resolves every reference', () => {
    expect(operations).toHaveLength(OPERATIONS.length);
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(OPERATIONS.length);
    const text = JSON.stringify(DOCUMENT);
    const references = new Set(
      [...text.matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)].map(([, kind = '', name = '']) => `${kind} ${name}`),
    );
    const there = Object.entries(DOCUMENT.components).flatMap(([kind, named]) => Object.keys(named).map((name) => `${kind} ${name}`));
    expect([...references].filter((one) => !there.includes(one))).toEqual([]);
    // No component is unused.
    expect(there.filter((one) => !one.startsWith('securitySchemes') && !references.has(one))).toEqual([]);
  });

  it('lists every webhook event in the form in which it is sent', () => {
    expect(Object.keys(DOCUMENT.webhooks).toSorted()).toEqual([...EVENT_TYPES].toSorted());
    const body = { type: 'funding.round', timestamp: '2026-11-22T12:00:00.000Z', data: { test: true, webhook: 'wh_1' } };
    checkEvent(body);
    for (const wrong of [
      { ...body, type: 'hiring.change', data: { test: false, webhook: 'wh_1' } },
      { ...body, timestamp: 'now' },
      { ...body, data: { ...body.data, more: 1 } },
      { type: body.type, data: body.data },
    ])
      expect(() => checkEvent(wrong)).toThrow(/^\{/);
  });

  it('describes every parameter, field and answer', () => {
    for (const { operation } of operations) {
      expect(operation).toMatchObject({ summary: expect.stringMatching(/./) as string, description: expect.stringMatching(/./) as string });
      for (const parameter of operation.parameters ?? [])
        expect(parameter, `${operation.operationId} ${parameter.name}`).toMatchObject({
          description: expect.stringMatching(/./) as string,
        });
    }
  });

  it('has examples that match its own schemas', () => {
    for (const { path, method, operation } of operations) {
      for (const { name, schema, example } of operation.parameters ?? []) {
        const at = operation.parameters?.findIndex((one) => one.name === name) ?? -1;
        if (example !== undefined)
          expect(
            valid(validatorAt('paths', path, method, 'parameters', String(at), 'schema'), asTyped(schema, example)),
            `${operation.operationId} ${name}`,
          ).toBe(true);
      }
      for (const { value } of Object.values(operation.requestBody?.content['application/json']?.examples ?? {}))
        expect(valid(validatorAt('paths', path, method, 'requestBody', 'content', 'application/json', 'schema'), value)).toBe(true);
      for (const { value } of Object.values(responseAt(operation, '200')?.content?.['application/json']?.examples ?? {}))
        expect(valid(validatorAt('paths', path, method, 'responses', '200', 'content', 'application/json', 'schema'), value), path).toBe(
          true,
        );
    }
    for (const [code, { value }] of Object.entries(DOCUMENT.components['examples'] ?? {}))
      expect([code, valid(validatorAt('components', 'schemas', 'Problem'), value)]).toEqual([code, true]);
  });

  it('needs no key, and shows the answers of the sample set', async () => {
    const service = await serveStore({ store: `${await temporaryFolder()}/sample.sqlite`, sample: true });
    expect((await service.request('/openapi.json')).json).toEqual(JSON.parse(JSON.stringify(DOCUMENT)));
    const answers = await sampleAnswers(service.url);
    for (const { id, operation } of exampleRequests()) {
      const { operation: described } = operationAt(operation.method, operation.path.replaceAll(/\{\w+\}/g, 'x')) ?? {};
      const [, name = ''] = id.split('.');
      const shown = described === undefined ? undefined : responseAt(described, '200')?.content?.['application/json']?.examples?.[name];
      expect(shown?.value, `${id}: node fixtures/generate/answers.ts`).toEqual(steady(answers[id]));
    }
  });
});

/** A query has flags as text. */
function asTyped(schema: Json, example: unknown): unknown {
  return (schema['items'] as Json | undefined)?.['type'] === 'boolean' ? (example as string[]).map((one) => one === 'true') : example;
}

/** True when the declaration accepts the body, apart from the meaning of its values. */
function takes(declared: Body, forms: readonly (readonly string[])[] | null, body: unknown): boolean {
  try {
    const reader = new BodyReader(body, declared);
    for (const name of Object.keys(declared.properties)) reader.get(name);
    // The schema says whether the fields are one of the forms, and not what their values mean.
    if (forms !== null)
      readLookup(
        {
          has: (field) => reader.has(field),
          text: (field) => reader.text(field),
          fail: (at, code, detail) => (code.startsWith('invalid_') ? undefined : reader.fail(at, code, detail)),
        },
        forms,
      );
    else if (declared.forms !== undefined && declared.forms.filter((form) => form.every((field) => reader.has(field))).length !== 1)
      return false;
    if (declared.required?.some((field) => !reader.has(field)) === true) return false;
    reader.finish();
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

describe('the body', () => {
  const cases = [
    { name: 'EnrichRequest', declared: ENRICH_BODY, forms: ENRICH_FORMS },
    { name: 'RevealRequest', declared: REVEAL_BODY, forms: PERSON_FORMS },
    { name: 'VerifyRequest', declared: VERIFY_BODY, forms: null },
    { name: 'BulkEnrichRequest', declared: BULK_BODY, forms: null },
    { name: 'BatchRequest', declared: BATCH_BODY, forms: null },
    { name: 'BatchChange', declared: BATCH_CHANGE_BODY, forms: null },
    { name: 'WebhookRequest', declared: WEBHOOK_BODY, forms: null },
    { name: 'WebhookChange', declared: WEBHOOK_CHANGE_BODY, forms: null },
  ] as const;

  it.each(cases)('$name is accepted exactly when its published schema holds', ({ name, declared, forms }) => {
    const schema = validatorAt('components', 'schemas', name);
    const fields: Body['properties'] = declared.properties;
    const good = Object.entries(fields).map(([field, { examples = [] }]) =>
      fc.record({ field: fc.constant(field), value: fc.constantFrom(...examples, null) }),
    );
    const odd = fc.record({
      field: fc.constantFrom(...Object.keys(fields), 'emial', '__proto__', ''),
      value: fc.oneof(fc.jsonValue(), fc.integer({ min: -2, max: 400_000_000 }), fc.constant([]), fc.constant([{ params: {} }])),
    });
    const body = fc
      .array(fc.oneof({ weight: 5, arbitrary: fc.oneof(...good) }, { weight: 1, arbitrary: odd }), { maxLength: 4 })
      .map((pairs) => JSON.parse(JSON.stringify(Object.fromEntries(pairs.map(({ field, value }) => [field, value])))) as unknown);
    let taken = 0;
    fc.assert(
      fc.property(fc.oneof({ weight: 20, arbitrary: body }, { weight: 1, arbitrary: fc.jsonValue() }), (sent) => {
        const verdict = takes(declared, forms, sent);
        if (verdict) taken++;
        expect(verdict, JSON.stringify(sent)).toBe(schema(sent));
      }),
      { numRuns: 1_000 },
    );
    expect(taken).toBeGreaterThan(10);
  });
});

describe('records of any content', () => {
  it('get answers that match the document', async () => {
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom('12', '2020', [{ city: 5, lat: 'x', started_on: 2019, is_current: 'yes' }, 'text', 7], {
        total_usd: '1M',
        investors: 'a; b',
        by_department: { sales: 'x' },
        m12: [],
        lat: '52.5',
      }),
    );
    const record = (fields: readonly string[]): fc.Arbitrary<Record<string, unknown>> =>
      fc.dictionary(fc.constantFrom(...fields), odd, { maxKeys: 12 });
    const people = fc.sample(record(Object.keys(IMPORTED_PERSON)), { numRuns: 200 });
    const companies = fc.sample(record(Object.keys(IMPORTED_COMPANY)), { numRuns: 200 });
    const told = fc.sample(record(['subtype', 'confidence', 'source_url', 'person', 'data', 'detected_at']), { numRuns: 100 });
    const store = await makeStore((open) => {
      loadCompanies(
        open,
        companies.map((company, n) => ({ ...company, id: `c${n}`, domain: `c${n}.example` })),
        'test',
      );
      loadPeople(
        open,
        people.map((person, n) => ({ ...person, id: `p${n}`, email: `p${n}@c${n}.example`, company_domain: `c${n}.example` })),
        'test',
      );
      loadSignals(
        open,
        told.map((signal, n) => ({ ...signal, id: `s${n}`, type: 'funding', domain: `c${n}.example`, occurred_at: '2026-01-01' })),
        'test',
      );
    });
    const service = await serveStore({ store });
    const headers = { authorization: `Bearer ${KEY}` };
    const bulk = async (from: number): Promise<unknown[]> =>
      (await service.post('/v1/enrich/bulk', { requests: Array.from({ length: 100 }, (_, n) => ({ params: { id: `p${from + n}` } })) }))
        .json['data'] as unknown[];
    // The harness checks each answer against the document.
    expect([...(await bulk(0)), ...(await bulk(100))].filter((item) => (item as { status: number }).status === 200).length).toBeGreaterThan(
      150,
    );
    await service.request('/v1/contacts/search?limit=100', { headers });
    await service.request('/v1/signals?limit=100', { headers });
    for (let n = 0; n < 30; n++) await service.post('/v1/contacts/reveal', { id: `p${n}` });
  });
});
