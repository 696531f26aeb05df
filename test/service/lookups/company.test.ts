import { beforeEach, describe, expect, it } from 'vitest';
import { loadCompanies, loadPeople, loadSignals } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { KEY, makeKey, serveStore, type Reply, type Served } from '../harness.ts';
import { charged, serveLookups } from './lookup-service.ts';

const AUTH = { authorization: `Bearer ${KEY}` };

let store: string;
let service: Served;
beforeEach(async () => {
  service = await serveLookups();
  ({ store } = service);
});

describe('GET /v1/companies/{domain}', () => {
  it('answers the whole record with its signals, for any spelling of the domain and for subdomains', async () => {
    const open = openStore(store);
    loadSignals(
      open,
      [{ id: 'sg_1', type: 'funding', domain: 'acme.example', occurred_at: '2026-01-02', data: { round_type: 'seed' } }],
      'test',
    );
    loadCompanies(open, [{ domain: 'brückner.example', name: 'Brückner' }], 'test');
    open.close();
    for (const domain of ['acme.example', 'WWW.Acme.example', 'shop.acme.example', 'https%3A%2F%2Facme.example%2Fteam']) {
      const { status, json } = await service.request(`/v1/companies/${domain}`, { headers: AUTH });
      expect([status, json]).toMatchObject([
        200,
        {
          id: 'co_1',
          name: 'Acme',
          domain: 'acme.example',
          ticker: null,
          signals: [{ id: 'sg_1', type: 'funding', data: { round_type: 'seed' } }],
        },
      ]);
      // The fields are those of /v1/signals. An unknown value is null.
      expect(Object.keys((json['signals'] as object[])[0] ?? {})).toEqual([
        'id',
        'type',
        'subtype',
        'occurred_at',
        'detected_at',
        'confidence',
        'source_url',
        'person',
        'data',
      ]);
    }
    expect((await service.request(`/v1/companies/${encodeURIComponent('brückner.example')}`, { headers: AUTH })).json['name']).toBe(
      'Brückner',
    );
  });

  it("finds a company by another of its domains, unless that is another company's own or several claim it", async () => {
    const open = openStore(store);
    loadCompanies(
      open,
      [
        { domain: 'acme.example', domain_aliases: ['https://Acme.test/', 'shared.example', 'n/a', 'other.example'] },
        { domain: 'other.example', name: 'Other', domain_aliases: ['shared.example'] },
      ],
      'test',
    );
    loadPeople(open, [{ id: 'pe_u', email: 'uma@acme.test', name: 'Uma Else', company_domain: 'acme.test' }], 'test');
    open.close();
    const named = async (domain: string): Promise<unknown> =>
      (await service.request(`/v1/companies/${domain}`, { headers: AUTH })).json['name'] ?? null;
    expect([await named('acme.test'), await named('shop.acme.test'), await named('shared.example'), await named('other.example')]).toEqual([
      'Acme',
      'Acme',
      null,
      'Other',
    ]);
    expect((await service.post('/v1/enrich', { domain: 'acme.test' })).json).toMatchObject({
      company: { id: 'co_1', domain: 'acme.example' },
      verified: false,
    });
    expect((await service.post('/v1/enrich', { id: 'pe_u' })).json).toMatchObject({ company: { id: 'co_1' } });
    // A person is found by name at each domain of the company.
    for (const domain of ['acme.example', 'acme.test'])
      expect((await service.post('/v1/contacts/reveal', { name: 'Uma Else', domain })).json).toMatchObject({ id: 'pe_u' });
    expect((await service.post('/v1/contacts/reveal', { name: 'Uma Else', domain: 'other.example' })).status).toBe(404);
    // A newer list replaces the older one.
    const again = openStore(store);
    loadCompanies(again, [{ domain: 'acme.example', domain_aliases: ['acme.net'], updated_at: '2026-01-01T00:00:00Z' }], 'test');
    again.close();
    await service.close();
    service = await serveStore({ store });
    expect([await named('acme.test'), await named('acme.net'), await named('shared.example')]).toEqual([null, 'Acme', 'Other']);
  });

  it('answers 304 without a charge to a client that has the record already', async () => {
    const first = await service.request('/v1/companies/acme.example', { headers: AUTH });
    expect(charged(first)).toBe('1');
    const etag = first.headers.get('etag') ?? '';
    const again = await service.request('/v1/companies/acme.example', { headers: { ...AUTH, 'if-none-match': `"other", W/${etag}` } });
    expect([again.status, again.text, charged(again), again.headers.get('etag')]).toEqual([304, '', '0', etag]);
  });

  it('answers HEAD with the headers of GET, for a call and no credit', async () => {
    const key = await makeKey(store, 'trial', { credits: 1 });
    const ask = (method: string): Promise<Reply> =>
      service.request('/v1/companies/acme.example', { method, headers: { authorization: `Bearer ${key}` } });
    const head = await ask('HEAD');
    const get = await ask('GET');
    expect([head.status, head.text, charged(head), charged(get)]).toEqual([200, '', '0', '1']);
    for (const name of ['etag', 'content-length', 'content-type']) expect(head.headers.get(name)).toBe(get.headers.get(name));
    expect([head, get].map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['59', '58']);
    // Credits are used up, calls are not.
    expect([(await ask('HEAD')).status, (await ask('GET')).status]).toEqual([200, 402]);
  });

  it('refuses a malformed domain, and answers 404 for an unknown company', async () => {
    expect((await service.request('/v1/companies/localhost', { headers: AUTH })).json).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
      errors: [{ parameter: 'domain' }],
    });
    const missed = await service.request('/v1/companies/nowhere.example', { headers: AUTH });
    expect([missed.status, missed.json['code'], charged(missed)]).toEqual([404, 'no_match', '0']);
    expect((await service.request('/v1/companies/acme.example?x=1', { headers: AUTH })).json['code']).toBe('unknown_parameter');
    expect((await service.request('/v1/companies/acme.example', { method: 'POST', headers: AUTH })).headers.get('allow')).toBe('GET, HEAD');
    expect((await service.request('/v1/companies/a/b', { headers: AUTH })).status).toBe(404);
  });
});
