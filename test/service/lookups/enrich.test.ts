import { describe, expect, it } from 'vitest';
import { RECORD_FIELDS } from '../../../src/service/records/whole-record.ts';
import { COMPANY_FIELDS } from '../../../src/service/records/company-fields.ts';
import { EVENT_TYPES } from '../../../src/service/webhooks/announcement.ts';
import { enrichOne } from '../../../src/service/lookups/enrich.ts';
import { revealOne } from '../../../src/service/lookups/reveal.ts';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { loadPeople } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import type { Webhooks } from '../../../src/service/webhooks/webhooks.ts';
import type { EmailVerification } from '../../../src/verification/types.ts';
import { makeStore, serveStore } from '../harness.ts';

describe('POST /v1/enrich', () => {
  it('answers the whole record for an address in any spelling', async () => {
    const service = await serveStore();
    const reply = await service.post('/v1/enrich', { email: '  Jane.DOE@Acme.Example ' });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(reply.headers.get('x-credits-charged')).toBe('1');
    expect(Object.keys(reply.json).sort()).toEqual([...RECORD_FIELDS].sort());
    expect(Object.keys(reply.json['company'] as object).sort()).toEqual([...COMPANY_FIELDS].sort());
    expect(reply.json).toMatchObject({
      email: 'jane.doe@acme.example',
      name: 'Jane Doe',
      title: 'CTO',
      verified: true,
      middle_name: null,
      matched_on: ['email'],
      company: { name: 'Acme', employees: 42, revenue: '$12M', stack: ['PostgreSQL'], ticker: null },
    });
  });

  it('answers only the company for a domain, with `verified` false', async () => {
    const service = await serveStore();
    const { status, json } = await service.post('/v1/enrich', { domain: 'https://www.ACME.example/about' });
    expect(status).toBe(200);
    // A subdomain stands for its domain, as at GET /v1/companies/{domain}.
    expect((await service.post('/v1/enrich', { domain: 'shop.acme.example' })).json['company']).toEqual(json['company']);
    const { company, verified, matched_on: matchedOn, ...person } = json;
    expect(company).toMatchObject({ domain: 'acme.example' });
    expect(verified).toBe(false);
    expect(matchedOn).toEqual(['domain']);
    expect(Object.values(person).every((value) => value === null)).toBe(true);
  });

  it('answers null for an unknown company, and looks up by id', async () => {
    const service = await serveStore();
    expect((await service.post('/v1/enrich', { id: 'pe_3' })).json).toMatchObject({ name: 'Søren Solo', company: null, verified: false });
  });

  it('gives the domain or the name of a company that has no record', async () => {
    const store = await makeStore((open) =>
      loadPeople(
        open,
        [
          { id: 'pe_7', email: 'eve@unloaded.example', company_domain: 'unloaded.example' },
          { id: 'pe_8', email: 'bob@home.example', company_name: 'Bobs' },
        ],
        'test',
      ),
    );
    const service = await serveStore({ store });
    const company = Object.fromEntries(COMPANY_FIELDS.map((field) => [field, null]));
    for (const path of ['/v1/enrich', '/v1/contacts/reveal']) {
      expect((await service.post(path, { id: 'pe_7' })).json['company']).toEqual({ ...company, domain: 'unloaded.example' });
      expect((await service.post(path, { id: 'pe_8' })).json['company']).toEqual({ ...company, name: 'Bobs' });
    }
  });

  it.each([
    { email: 'nobody@acme.example' },
    { domain: 'nowhere.example' },
    { id: 'pe_9' },
    { email: 'jane.doe@acme.example', min_likelihood: 99 },
    { email: 'jane.doe@acme.example', required: ['mobile'] },
  ])('finds nothing for %j and charges nothing', async (body) => {
    const service = await serveStore();
    const { status, json, headers } = await service.post('/v1/enrich', body);
    expect(status).toBe(404);
    expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(json).toMatchObject({
      code: 'no_match',
      status: 404,
      retryable: false,
      instance: '/v1/enrich',
      request_id: headers.get('x-request-id'),
    });
    expect(headers.get('x-credits-charged')).toBe('0');
  });

  it('answers 451 for a person who asked to be removed, even after the same data is loaded again', async () => {
    const store = await makeStore((open) => {
      expect(loadPeople(open, [{ id: 'pe_4', email: 'GONE@acme.example' }], 'test')).toEqual({ loaded: 0, rejected: 1 });
    });
    const service = await serveStore({ store });
    const { status, json } = await service.post('/v1/enrich', { email: 'Gone@acme.example' });
    expect([status, json['code']]).toEqual([451, 'suppressed_person']);
    expect((await service.post('/v1/enrich', { id: 'pe_4' })).status).toBe(404);
  });

  it('verifies the address anew on `verify`, which costs one credit more when there is a verdict', async () => {
    const store = await makeStore((open) =>
      loadPeople(
        open,
        [
          { id: 'pe_5', email: 'hired@acme.example', email_status: 'unverified' },
          { id: 'pe_6', email: 'new@acme.example', email_status: 'unverified' },
        ],
        'test',
      ),
    );
    const service = await serveStore({ store });
    const known = await service.post('/v1/enrich', { id: 'pe_5', verify: true, fields: ['email_status', 'verified', 'email_confidence'] });
    expect([known.headers.get('x-credits-charged'), known.json]).toEqual([
      '2',
      { email_status: 'verified', verified: true, email_confidence: 75 },
    ]);
    expect((await service.post('/v1/enrich', { id: 'pe_5', verify: false })).json).toMatchObject({
      email_status: 'unverified',
      verified: false,
    });
    const bulk = await service.post('/v1/enrich/bulk', {
      requests: ['pe_6', 'pe_3', 'pe_9'].map((id) => ({ params: { id, verify: true } })),
    });
    expect(bulk.json['data']).toMatchObject([
      { record: { email_status: 'unverified' } },
      { record: { email_status: 'bounced', email_confidence: 0 } },
      { status: 404 },
    ]);
    expect(bulk.headers.get('x-credits-charged')).toBe('3');
    expect((await service.post('/v1/enrich', { domain: 'acme.example', verify: true })).headers.get('x-credits-charged')).toBe('1');
  });

  it.each([
    ['enrich', enrichOne],
    ['reveal', revealOne],
  ] as const)('hides a person who is erased while the mail server is asked: %s', async (_what, one) => {
    const open = openStore(await makeStore());
    const directory = openDirectory(open);
    const verifier = {
      verify: (): Promise<EmailVerification[]> => {
        suppress(open, ['jane.doe@acme.example'], Date.now());
        return Promise.resolve([]);
      },
    };
    const context = { evidence: directory, verifier, directory, webhooks: { isDevelopment: false } as Webhooks };
    await expect(one(context, { id: 'pe_1', verify: true })).rejects.toMatchObject({ code: 'suppressed_person' });
    open.close();
  });

  it('cuts the record down to the fields asked for', async () => {
    const service = await serveStore();
    expect((await service.post('/v1/enrich', { email: 'jane.doe@acme.example', fields: ['name', 'verified'] })).json).toEqual({
      name: 'Jane Doe',
      verified: true,
    });
    expect(Object.keys((await service.post('/v1/enrich', { email: 'jane.doe@acme.example', fields: ['company'] })).json)).toEqual([
      'company',
    ]);
  });

  it.each([
    [{}, '', 'required'],
    [{ email: null }, '', 'required'],
    [{ email: 5 }, '/email', 'type'],
    [{ email: 'jane@' }, '/email', 'invalid_email'],
    [{ domain: 'localhost' }, '/domain', 'invalid_domain'],
    [{ email: 'a@acme.example', domain: 'acme.example' }, '/domain', 'ambiguous'],
    [{ linkedin_url: 'jane' }, '/linkedin_url', 'invalid_url'],
    [{ phone: '555-0100' }, '/phone', 'invalid_phone'],
    [{ name: 'Jane Doe' }, '', 'required'],
    [{ name: 'Jane Doe', company: 'Acme' }, '/company', 'unknown_field'],
    [{ emial: 'a@acme.example' }, '/emial', 'unknown_field'],
    [{ 'a/b~c': 1, email: 'a@acme.example' }, '/a~1b~0c', 'unknown_field'],
    [{ email: 'a@acme.example', min_likelihood: 101 }, '/min_likelihood', 'range'],
    [{ email: 'a@acme.example', min_likelihood: 1.5 }, '/min_likelihood', 'type'],
    [{ email: 'a@acme.example', fields: ['nmae'] }, '/fields/0', 'enum'],
    [{ email: 'a@acme.example', fields: [] }, '/fields', 'too_few'],
    [{ email: 'a@acme.example', required: [1] }, '/required/0', 'type'],
    [{ email: 'a@acme.example', verify: 'yes' }, '/verify', 'type'],
    [{ email: 'a@acme.example', webhook_url: 'http://hooks.acme.example' }, '/webhook_url', 'insecure'],
    [[], '', 'type'],
  ])('refuses %j at %j: %s', async (body, pointer, code) => {
    const service = await serveStore();
    const { status, json } = await service.post('/v1/enrich', body);
    expect([status, json['code']]).toEqual([422, 'validation_failed']);
    expect(json['errors']).toContainEqual(expect.objectContaining({ pointer, code }));
  });

  it('suggests the field that was probably meant', async () => {
    const service = await serveStore();
    expect((await service.post('/v1/enrich', { emial: 'a@acme.example' })).text).toContain('did you mean email?');
  });

  it('lists the known names of a list where they are few and none is similar', async () => {
    const service = await serveStore();
    const detail = async (path: string, body: unknown): Promise<unknown> => (await service.post(path, body)).json['detail'];
    expect(await detail('/v1/webhooks', { events: ['batch.done'], url: 'https://hooks.acme.example' })).toBe(
      `unknown name "batch.done" in events; known are ${EVENT_TYPES.join(', ')}`,
    );
    expect(await detail('/v1/enrich', { email: 'a@acme.example', fields: ['nothing_like_it'] })).toBe(
      'unknown name "nothing_like_it" in fields',
    );
  });
});
