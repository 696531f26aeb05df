import { beforeEach, describe, expect, it } from 'vitest';
import { loadCompanies, loadPeople, loadSignals } from '../../src/service/store/load.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import { suppress } from '../../src/service/store/suppress.ts';
import { KEY, makeKey, makeStore, serveStore, type Reply, type Served } from './harness.ts';

const AUTH = { authorization: `Bearer ${KEY}` };
const ADA = { id: 'pe_a', email: 'ada@acme.example', emails: ['ada@home.example'], name: 'Ada Éxample', linkedin_url: 'https://www.linkedin.com/in/ada-example', mobile: '+12125550100', email_status: 'verified', email_confidence: 97, company_domain: 'acme.example' };

let store: string;
let service: Served;
beforeEach(async () => {
  store = await makeStore((open) => {
    loadPeople(open, [ADA, { id: 'pe_t1', email: 'tim1@acme.example', name: 'Tim Twin', company_domain: 'acme.example' }, { id: 'pe_t2', email: 'tim2@acme.example', name: 'Tim Twin', company_domain: 'acme.example' }, { id: 'pe_dead', email: 'dee@acme.example', name: 'Dee Dead', email_status: 'bounced', email_verified_at: new Date(Date.now() - 86_400_000).toISOString(), company_domain: 'acme.example' }, { id: 'pe_b', name: 'Bare', linkedin_url: 'linkedin.com/in/bare' }], 'test');
  });
  service = await serveStore({ store });
});

/** What became of a mail, epoch milliseconds. */
function mailOf(email: string, column: 'delivered_at' | 'bounced_at', atMs: number): void {
  const open = openStore(store);
  open.prepare(`INSERT INTO deliveries (email, ${column}) VALUES (?1, ?2) ON CONFLICT (email) DO UPDATE SET ${column} = ?2`).run(email, atMs);
  open.close();
}

const charged = ({ headers }: Reply): string | null => headers.get('x-credits-charged');

describe('POST /v1/contacts/reveal', () => {
  it.each([
    [{ linkedin_url: 'http://de.linkedin.com/in/Ada-Example/?trk=x' }, ['linkedin_url'], 96],
    [{ id: 'pe_a' }, ['id'], 100],
    [{ email: 'ADA@acme.example' }, ['email'], 98],
    [{ email: 'ada@home.example' }, ['email'], 98],
    [{ phone: '+1 212 555 0100' }, ['phone'], 90],
    [{ name: 'ADA example', domain: 'www.acme.example' }, ['name', 'domain'], 85],
    [{ name: 'Ada Example', company: 'acme' }, ['name', 'company'], 85],
  ])('finds by %j', async (body, matchedOn, likelihood) => {
    const reply = await service.post('/v1/contacts/reveal', body);
    expect(reply.json).toMatchObject({ id: 'pe_a', email: 'ada@acme.example', email_status: 'verified', email_confidence: 97, mobile: '+12125550100', emails: [{ email: 'ada@home.example', type: null, status: null }], phones: [{ number: '+12125550100' }], likelihood, matched_on: matchedOn, credits_charged: 1, company: { name: 'Acme' } });
    expect(charged(reply)).toBe('1');
  });

  it('finds by a number that is not the mobile one, of one person alone, and charges for it', async () => {
    const open = openStore(store);
    const office = { number: '+1 212 555 0199', type: 'office' };
    loadPeople(open, [{ id: 'pe_p', name: 'Pia Phone', company_domain: 'acme.example', phones: [{ number: '+1 (212) 555-0177', type: 'mobile' }, office] }, { id: 'pe_q', email: 'quin@acme.example', phones: [office, { number: '555' }, { number: '+12125550100' }] }], 'test');
    open.close();
    const find = async (phone: string): Promise<unknown> => {
      const { status, json } = await service.post('/v1/contacts/reveal', { phone });
      return status === 200 ? [json['id'], json['matched_on'], json['credits_charged']] : json['code'];
    };
    // A number that is somebody's mobile one is theirs, whoever else has it among others.
    expect([await find('+12125550177'), await find('+12125550199'), await find('+12125550100')]).toEqual([['pe_p', ['phone'], 1], 'no_match', ['pe_a', ['phone'], 1]]);
    expect((await service.post('/v1/enrich', { phone: '+12125550177' })).json).toMatchObject({ id: 'pe_p', mobile: null });
    const later = openStore(store);
    loadPeople(later, [{ id: 'pe_q', phones: [{ number: '+12125550188' }], updated_at: '2026-01-01' }], 'test');
    expect([await find('+12125550199'), await find('+12125550188')]).toEqual([['pe_p', ['phone'], 1], ['pe_q', ['phone'], 1]]);
    suppress(later, ['quin@acme.example'], 0);
    expect(await find('+12125550188')).toBe('suppressed_person');
    const colleagues = ['rita', 'rob'].map((name) => ({ email: `${name}@acme.example`, phones: [{ number: '+12125550188', type: 'mobile' }] }));
    // A number that was somebody's who was erased is told of by nobody but those who have it now.
    for (const [n, answer] of [[expect.stringMatching(/^pe_/), ['phone'], 1], 'no_match'].entries()) {
      expect(loadPeople(later, colleagues.slice(n, n + 1), 'test')).toEqual({ loaded: 1, rejected: 0 });
      expect(await find('+12125550188')).toEqual(answer);
    }
    later.close();
  });

  it('is less sure of a number that is not a mobile one, and takes the number of a company for nobody\'s', async () => {
    const open = openStore(store);
    const [desk, cell, board, mobileBoard] = ['+12125550121', '+12125550122', '+12125550123', '+12125550124'] as const;
    loadCompanies(open, [{ domain: 'acme.example', phone: '+1 (212) 555-0123' }, { domain: 'solo.example', phone: mobileBoard }], 'test');
    loadPeople(open, [{ email: 'dan@acme.example', company_domain: 'acme.example', phones: [{ number: desk, type: 'work' }, { number: cell, type: 'Cell' }, { number: board, type: 'work' }] }, { email: 'sue@solo.example', company_domain: 'solo.example', mobile: mobileBoard }], 'test');
    open.close();
    const answers = [];
    for (const phone of [desk, cell, board, mobileBoard]) {
      const reply = await service.post('/v1/enrich', { phone });
      answers.push([reply.json['likelihood'] ?? reply.json['code'], charged(reply)]);
    }
    expect(answers).toEqual([[60, '1'], [90, '1'], ['no_match', '0'], ['no_match', '0']]);
    expect((await service.post('/v1/enrich', { phone: desk, min_likelihood: 80 })).json['code']).toBe('no_match');
  });

  it('keeps the number back when it is not wanted, and takes nothing for nothing', async () => {
    expect((await service.post('/v1/contacts/reveal', { id: 'pe_a', reveal_mobile: false })).json).toMatchObject({ mobile: null, phones: [], email: 'ada@acme.example' });
    const bare = await service.post('/v1/contacts/reveal', { id: 'pe_b' });
    expect([bare.status, charged(bare), bare.json['credits_charged']]).toEqual([200, '0', 0]);
  });

  it.each([{ emails: ['per@acme.example'] }, { emails: [{ email: 'per@acme.example', type: 'work' }] }, { personal_emails: ['per@home.example'] }])('charges for an address that is not the main one: %j', async (known) => {
    const open = openStore(store);
    loadPeople(open, [{ id: 'pe_other', name: 'Per Other', linkedin_url: 'linkedin.com/in/per', ...known }], 'test');
    open.close();
    const reply = await service.post('/v1/contacts/reveal', { id: 'pe_other', reveal_mobile: false });
    expect(reply.text).toMatch(/per@/);
    expect([charged(reply), reply.json['credits_charged'], reply.json['email']]).toEqual(['1', 1, null]);
  });

  it('names the main address and number first, where others are listed', async () => {
    const open = openStore(store);
    const [before, after] = [{ email: 'per@old.example', mobile: '+12125550170' }, { email: 'per@new.example', mobile: '+12125550171' }];
    loadPeople(open, [before, after].map((keys) => ({ linkedin_url: 'linkedin.com/in/per-moved', ...keys })), 'test');
    open.close();
    const { emails, phones } = (await service.post('/v1/contacts/reveal', { email: 'per@old.example' })).json;
    expect([emails, phones]).toEqual([
      [{ email: 'per@new.example', type: null, status: null }, { email: 'per@old.example', type: 'former', status: null }],
      [{ number: '+12125550171', type: 'mobile' }, { number: '+12125550170', type: 'former_mobile' }],
    ]);
  });

  it('asks anew for the verdict on the address when told to, which costs a credit more', async () => {
    const revealed = async (id = 'pe_a'): Promise<unknown[]> => {
      const reply = await service.post('/v1/contacts/reveal', { id, verify: true });
      return [charged(reply), reply.json['email_status'], reply.json['email_confidence']];
    };
    // What the record claims itself is no evidence for it, and her server will not say.
    expect(await revealed()).toEqual(['1', 'verified', 97]);
    mailOf('ada@acme.example', 'delivered_at', Date.now());
    expect(await revealed()).toEqual(['2', 'verified', 100]);
    // Nor is what it claims against it, until mail has come back.
    expect(await revealed('pe_dead')).toEqual(['1', 'bounced', null]);
    expect((await service.post('/v1/emails/verify', { email: 'dee@acme.example' })).json).toMatchObject({ result: 'undeliverable', reason: 'recorded_verdict', cached: true });
    mailOf('dee@acme.example', 'delivered_at', Date.now() - 1_000);
    expect(await revealed('pe_dead')).toEqual(['2', 'verified', 100]);
    mailOf('dee@acme.example', 'bounced_at', Date.now());
    expect(await revealed('pe_dead')).toEqual(['2', 'bounced', 0]);
  });

  it('is less sure of a name that two have', async () => {
    expect((await service.post('/v1/contacts/reveal', { name: 'Tim Twin', domain: 'acme.example' })).json['likelihood']).toBe(42);
    expect((await service.post('/v1/enrich', { name: 'Tim Twin', domain: 'acme.example', min_likelihood: 50 })).json['code']).toBe('no_match');
  });

  it('knows nothing of who was erased, by whatever they were known', async () => {
    const open = openStore(store);
    suppress(open, ['ada@home.example'], 0);
    open.close();
    for (const body of [{ email: 'ada@acme.example' }, { email: 'ada@home.example' }, { linkedin_url: 'linkedin.com/in/ada-example' }, { phone: '+1 (212) 555-0100' }, { id: 'pe_a' }]) {
      const reply = await service.post('/v1/contacts/reveal', body);
      expect([reply.status, reply.json['code'], charged(reply)]).toEqual([451, 'suppressed_person', '0']);
    }
    // Namesakes are told apart by nothing.
    expect((await service.post('/v1/contacts/reveal', { name: 'Ada Example', domain: 'acme.example' })).status).toBe(404);
  });

  it.each([
    [{}, '', 'required'], [{ domain: 'acme.example' }, '', 'required'], [{ name: 'Ada' }, '', 'required'], [{ id: 'x', email: 'a@acme.example' }, '/id', 'ambiguous'], [{ id: 'x', domain: 'acme.example' }, '/domain', 'ambiguous'],
    [{ name: 'x', domain: 'acme.example', company: 'Acme' }, '/company', 'ambiguous'], [{ linkedin_url: 'ada' }, '/linkedin_url', 'invalid_url'], [{ phone: '555' }, '/phone', 'invalid_phone'], [{ name: 'x', domain: 'y' }, '/domain', 'invalid_domain'],
    [{ id: 'pe_a', reveal_mobile: 'no' }, '/reveal_mobile', 'type'], [{ linkedin: 'x' }, '/linkedin', 'unknown_field'],
    [{ name: 'Ada Example', company: ' ' }, '/company', 'invalid_company'],
    [{ name: 'Ada Example', company: '' }, '/company', 'empty'],
    [{ email: 'x'.repeat(2_049) }, '/email', 'too_long'],
  ])('refuses %j at %j: %s', async (body, pointer, code) => {
    const { status, json } = await service.post('/v1/contacts/reveal', body);
    expect([status, json['code']]).toEqual([422, 'validation_failed']);
    expect(json['errors']).toContainEqual(expect.objectContaining({ pointer, code }));
  });
});

describe('GET /v1/companies/{domain}', () => {
  it('answers the whole record with its signals, for whatever is written and for what lies below it', async () => {
    const open = openStore(store);
    loadSignals(open, [{ id: 'sg_1', type: 'funding', domain: 'acme.example', occurred_at: '2026-01-02', data: { round_type: 'seed' } }], 'test');
    loadCompanies(open, [{ domain: 'brückner.example', name: 'Brückner' }], 'test');
    open.close();
    for (const domain of ['acme.example', 'WWW.Acme.example', 'shop.acme.example', 'https%3A%2F%2Facme.example%2Fteam']) {
      const { status, json } = await service.request(`/v1/companies/${domain}`, { headers: AUTH });
      expect([status, json]).toMatchObject([200, { id: 'co_1', name: 'Acme', domain: 'acme.example', ticker: null, signals: [{ id: 'sg_1', type: 'funding', data: { round_type: 'seed' } }] }]);
      // As at /v1/signals, where what is not known is null.
      expect(Object.keys((json['signals'] as object[])[0] ?? {})).toEqual(['id', 'type', 'subtype', 'occurred_at', 'detected_at', 'confidence', 'source_url', 'person', 'data']);
    }
    expect((await service.request(`/v1/companies/${encodeURIComponent('brückner.example')}`, { headers: AUTH })).json['name']).toBe('Brückner');
  });

  it('finds a company by another domain of it, unless that is somebody else\'s or several claim it', async () => {
    const open = openStore(store);
    loadCompanies(open, [
      { domain: 'acme.example', domain_aliases: ['https://Acme.test/', 'shared.example', 'n/a', 'other.example'] },
      { domain: 'other.example', name: 'Other', domain_aliases: ['shared.example'] },
    ], 'test');
    loadPeople(open, [{ id: 'pe_u', email: 'uma@acme.test', name: 'Uma Else', company_domain: 'acme.test' }], 'test');
    open.close();
    const named = async (domain: string): Promise<unknown> => (await service.request(`/v1/companies/${domain}`, { headers: AUTH })).json['name'] ?? null;
    expect([await named('acme.test'), await named('shop.acme.test'), await named('shared.example'), await named('other.example')]).toEqual(['Acme', 'Acme', null, 'Other']);
    expect((await service.post('/v1/enrich', { domain: 'acme.test' })).json).toMatchObject({ company: { id: 'co_1', domain: 'acme.example' }, verified: false });
    expect((await service.post('/v1/enrich', { id: 'pe_u' })).json).toMatchObject({ company: { id: 'co_1' } });
    // Somebody known by their name is at the company, whichever of its domains is told.
    for (const domain of ['acme.example', 'acme.test']) expect((await service.post('/v1/contacts/reveal', { name: 'Uma Else', domain })).json).toMatchObject({ id: 'pe_u' });
    expect((await service.post('/v1/contacts/reveal', { name: 'Uma Else', domain: 'other.example' })).status).toBe(404);
    // A newer list replaces the older one.
    const again = openStore(store);
    loadCompanies(again, [{ domain: 'acme.example', domain_aliases: ['acme.net'], updated_at: '2026-01-01T00:00:00Z' }], 'test');
    again.close();
    await service.close();
    service = await serveStore({ store });
    expect([await named('acme.test'), await named('acme.net'), await named('shared.example')]).toEqual([null, 'Acme', 'Other']);
  });

  it('sends what the client has already neither again nor at a price', async () => {
    const first = await service.request('/v1/companies/acme.example', { headers: AUTH });
    expect(charged(first)).toBe('1');
    const etag = first.headers.get('etag') ?? '';
    const again = await service.request('/v1/companies/acme.example', { headers: { ...AUTH, 'if-none-match': `"other", W/${etag}` } });
    expect([again.status, again.text, charged(again), again.headers.get('etag')]).toEqual([304, '', '0', etag]);
  });

  it('tells without the record whether there is one, which is a call and no credit', async () => {
    const key = await makeKey(store, 'trial', { credits: 1 });
    const ask = (method: string): Promise<Reply> => service.request('/v1/companies/acme.example', { method, headers: { authorization: `Bearer ${key}` } });
    const head = await ask('HEAD');
    const get = await ask('GET');
    expect([head.status, head.text, charged(head), charged(get)]).toEqual([200, '', '0', '1']);
    for (const name of ['etag', 'content-length', 'content-type']) expect(head.headers.get(name)).toBe(get.headers.get(name));
    expect([head, get].map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['59', '58']);
    // Credits are used up, calls are not.
    expect([(await ask('HEAD')).status, (await ask('GET')).status]).toEqual([200, 402]);
  });

  it('refuses what is no domain, and misses what it has not', async () => {
    expect((await service.request('/v1/companies/localhost', { headers: AUTH })).json).toMatchObject({ status: 400, code: 'invalid_parameter', errors: [{ parameter: 'domain' }] });
    const missed = await service.request('/v1/companies/nowhere.example', { headers: AUTH });
    expect([missed.status, missed.json['code'], charged(missed)]).toEqual([404, 'no_match', '0']);
    expect((await service.request('/v1/companies/acme.example?x=1', { headers: AUTH })).json['code']).toBe('unknown_parameter');
    expect((await service.request('/v1/companies/acme.example', { method: 'POST', headers: AUTH })).headers.get('allow')).toBe('GET, HEAD');
    expect((await service.request('/v1/companies/a/b', { headers: AUTH })).status).toBe(404);
  });
});

describe('POST /v1/enrich/bulk', () => {
  const requests = [{ params: { email: 'ada@acme.example', fields: ['name'] }, metadata: { row: 1 } }, { params: { email: 'nobody@acme.example' } }, { params: { emial: 'x' } }, { params: { domain: 'acme.example' }, metadata: 'two' }];

  it('answers each in order as it would alone, charges the hits, and takes a request of the quota for each', async () => {
    const key = await makeKey(store, 'growth', { credits: 10 });
    const reply = await service.post('/v1/enrich/bulk', { requests }, { key });
    expect(reply.json['data']).toMatchObject([
      { status: 200, record: { name: 'Ada Éxample' }, error: null, metadata: { row: 1 } },
      { status: 404, record: null, error: { code: 'no_match' }, metadata: null },
      { status: 422, record: null, error: { code: 'validation_failed', errors: [{ pointer: '/emial' }, { pointer: '' }] }, metadata: null },
      { status: 200, record: { company: { name: 'Acme' }, verified: false }, error: null, metadata: 'two' },
    ]);
    expect([charged(reply), reply.headers.get('x-ratelimit-remaining')]).toEqual(['2', '996']);
  });

  it('waits for a quota that holds it, and refuses what no quota ever will', async () => {
    const key = await makeKey(store, 'trial');
    const many = (count: number): unknown => ({ requests: Array.from({ length: count }, () => requests[0]) });
    expect((await service.post('/v1/enrich/bulk', many(61), { key })).json).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/requests', code: 'too_many' }] });
    expect((await service.post('/v1/enrich/bulk', many(40), { key })).status).toBe(200);
    const refused = await service.post('/v1/enrich/bulk', many(40), { key });
    expect([refused.status, refused.json['code'], Number(refused.headers.get('retry-after'))]).toEqual([429, 'rate_limited', expect.toSatisfy((seconds: number) => seconds >= 20 && seconds <= 22)]);
  });

  it.each([
    [{}, '', 'required'], [{ requests: [] }, '/requests', 'too_few'], [{ requests: Array.from({ length: 101 }, () => ({ params: {} })) }, '/requests', 'too_many'],
    [{ requests: [5] }, '/requests/0', 'type'], [{ requests: [{ metadata: 1 }] }, '/requests/0', 'required'], [{ requests: [{ params: {}, extra: 1 }] }, '/requests/0', 'unknown_field'],
  ])('refuses %j', async (body, pointer, code) => {
    const { status, json } = await service.post('/v1/enrich/bulk', body);
    expect(status).toBe(422);
    expect(json['errors']).toContainEqual(expect.objectContaining({ pointer, code }));
  });
});
