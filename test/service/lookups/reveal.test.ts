import { beforeEach, describe, expect, it } from 'vitest';
import { loadCompanies, loadPeople } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import type { Served } from '../harness.ts';
import { charged, serveLookups } from './lookup-service.ts';

let store: string;
let service: Served;
beforeEach(async () => {
  service = await serveLookups();
  ({ store } = service);
});

/** Records the delivery or the bounce of a mail. */
function mailOf(email: string, column: 'delivered_at' | 'bounced_at', atMs: number): void {
  const open = openStore(store);
  open
    .prepare(`INSERT INTO deliveries (email, ${column}) VALUES (?1, ?2) ON CONFLICT (email) DO UPDATE SET ${column} = ?2`)
    .run(email, atMs);
  open.close();
}
describe('POST /v1/contacts/reveal', () => {
  it.each([
    [{ linkedin_url: 'http://de.linkedin.com/in/Ada-Example/?trk=x' }, ['linkedin_url'], 96],
    [{ id: 'pe_a' }, ['id'], 100],
    [{ email: 'ADA@acme.example' }, ['email'], 98],
    [{ email: 'ada@home.example' }, ['email'], 98],
    [{ phone: '+1 212 555 0100' }, ['phone'], 90],
    [{ name: 'ADA example', domain: 'www.acme.example' }, ['name', 'domain'], 85],
    [{ name: 'Ada Example', company: 'acme' }, ['name', 'company'], 85],
  ])('finds a contact by %j', async (body, matchedOn, likelihood) => {
    const reply = await service.post('/v1/contacts/reveal', body);
    expect(reply.json).toMatchObject({
      id: 'pe_a',
      email: 'ada@acme.example',
      email_status: 'verified',
      email_confidence: 97,
      mobile: '+12125550100',
      emails: [{ email: 'ada@home.example', type: null, status: null }],
      phones: [{ number: '+12125550100' }],
      likelihood,
      matched_on: matchedOn,
      credits_charged: 1,
      company: { name: 'Acme' },
    });
    expect(charged(reply)).toBe('1');
  });

  it('finds a person by a second number if nobody else has it, and charges for it', async () => {
    const open = openStore(store);
    const office = { number: '+1 212 555 0199', type: 'office' };
    loadPeople(
      open,
      [
        {
          id: 'pe_p',
          name: 'Pia Phone',
          company_domain: 'acme.example',
          phones: [{ number: '+1 (212) 555-0177', type: 'mobile' }, office],
        },
        { id: 'pe_q', email: 'quin@acme.example', phones: [office, { number: '555' }, { number: '+12125550100' }] },
      ],
      'test',
    );
    open.close();
    const find = async (phone: string): Promise<unknown> => {
      const { status, json } = await service.post('/v1/contacts/reveal', { phone });
      return status === 200 ? [json['id'], json['matched_on'], json['credits_charged']] : json['code'];
    };
    // A mobile number finds its owner, even if other people list it too.
    expect([await find('+12125550177'), await find('+12125550199'), await find('+12125550100')]).toEqual([
      ['pe_p', ['phone'], 1],
      'no_match',
      ['pe_a', ['phone'], 1],
    ]);
    expect((await service.post('/v1/enrich', { phone: '+12125550177' })).json).toMatchObject({ id: 'pe_p', mobile: null });
    const later = openStore(store);
    loadPeople(later, [{ id: 'pe_q', phones: [{ number: '+12125550188' }], updated_at: '2026-01-01' }], 'test');
    expect([await find('+12125550199'), await find('+12125550188')]).toEqual([
      ['pe_p', ['phone'], 1],
      ['pe_q', ['phone'], 1],
    ]);
    suppress(later, ['quin@acme.example'], 0);
    expect(await find('+12125550188')).toBe('suppressed_person');
    const colleagues = ['rita', 'rob'].map((name) => ({
      email: `${name}@acme.example`,
      phones: [{ number: '+12125550188', type: 'mobile' }],
    }));
    // The number of an erased person finds only the people who have it now.
    for (const [n, answer] of [[expect.stringMatching(/^pe_/), ['phone'], 1], 'no_match'].entries()) {
      expect(loadPeople(later, colleagues.slice(n, n + 1), 'test')).toEqual({ loaded: 1, rejected: 0 });
      expect(await find('+12125550188')).toEqual(answer);
    }
    later.close();
  });

  it("rates a desk number lower than a mobile one, and finds no person by a company's number", async () => {
    const open = openStore(store);
    const [desk, cell, board, mobileBoard] = ['+12125550121', '+12125550122', '+12125550123', '+12125550124'] as const;
    loadCompanies(
      open,
      [
        { domain: 'acme.example', phone: '+1 (212) 555-0123' },
        { domain: 'solo.example', phone: mobileBoard },
      ],
      'test',
    );
    loadPeople(
      open,
      [
        {
          email: 'dan@acme.example',
          company_domain: 'acme.example',
          phones: [
            { number: desk, type: 'work' },
            { number: cell, type: 'Cell' },
            { number: board, type: 'work' },
          ],
        },
        { email: 'sue@solo.example', company_domain: 'solo.example', mobile: mobileBoard },
      ],
      'test',
    );
    open.close();
    const answers = [];
    for (const phone of [desk, cell, board, mobileBoard]) {
      const reply = await service.post('/v1/enrich', { phone });
      answers.push([reply.json['likelihood'] ?? reply.json['code'], charged(reply)]);
    }
    expect(answers).toEqual([
      [60, '1'],
      [90, '1'],
      ['no_match', '0'],
      ['no_match', '0'],
    ]);
    expect((await service.post('/v1/enrich', { phone: desk, min_likelihood: 80 })).json['code']).toBe('no_match');
  });

  it('withholds the number when `reveal_mobile` is false, and charges nothing for an empty contact', async () => {
    expect((await service.post('/v1/contacts/reveal', { id: 'pe_a', reveal_mobile: false })).json).toMatchObject({
      mobile: null,
      phones: [],
      email: 'ada@acme.example',
    });
    const bare = await service.post('/v1/contacts/reveal', { id: 'pe_b' });
    expect([bare.status, charged(bare), bare.json['credits_charged']]).toEqual([200, '0', 0]);
  });

  it.each([
    { emails: ['per@acme.example'] },
    { emails: [{ email: 'per@acme.example', type: 'work' }] },
    { personal_emails: ['per@home.example'] },
  ])('charges for an address that is not the main one: %j', async (known) => {
    const open = openStore(store);
    loadPeople(open, [{ id: 'pe_other', name: 'Per Other', linkedin_url: 'linkedin.com/in/per', ...known }], 'test');
    open.close();
    const reply = await service.post('/v1/contacts/reveal', { id: 'pe_other', reveal_mobile: false });
    expect(reply.text).toMatch(/per@/);
    expect([charged(reply), reply.json['credits_charged'], reply.json['email']]).toEqual(['1', 1, null]);
  });

  it('lists the main address and number, and no former one', async () => {
    const open = openStore(store);
    const [before, after] = [
      { email: 'per@old.example', mobile: '+12125550170' },
      { email: 'per@new.example', mobile: '+12125550171' },
    ];
    loadPeople(
      open,
      [before, after].map((keys) => ({ linkedin_url: 'linkedin.com/in/per-moved', ...keys })),
      'test',
    );
    open.close();
    const { emails, phones } = (await service.post('/v1/contacts/reveal', { email: 'per@old.example' })).json;
    expect([emails, phones]).toEqual([
      [{ email: 'per@new.example', type: null, status: null }],
      [{ number: '+12125550171', type: 'mobile' }],
    ]);
  });

  it('verifies the address anew on `verify`, which costs one credit more', async () => {
    const revealed = async (id = 'pe_a'): Promise<unknown[]> => {
      const reply = await service.post('/v1/contacts/reveal', { id, verify: true });
      return [charged(reply), reply.json['email_status'], reply.json['email_confidence']];
    };
    // The record's own claim is no evidence, and her mail server does not say.
    expect(await revealed()).toEqual(['1', 'verified', 97]);
    mailOf('ada@acme.example', 'delivered_at', Date.now());
    expect(await revealed()).toEqual(['2', 'verified', 100]);
    // A claimed bounce is no evidence either, until mail has bounced.
    expect(await revealed('pe_dead')).toEqual(['1', 'bounced', null]);
    expect((await service.post('/v1/emails/verify', { email: 'dee@acme.example' })).json).toMatchObject({
      result: 'undeliverable',
      reason: 'recorded_verdict',
      cached: true,
    });
    mailOf('dee@acme.example', 'delivered_at', Date.now() - 1_000);
    expect(await revealed('pe_dead')).toEqual(['2', 'verified', 100]);
    mailOf('dee@acme.example', 'bounced_at', Date.now());
    expect(await revealed('pe_dead')).toEqual(['2', 'bounced', 0]);
  });

  it('lowers the likelihood of a name that two people have', async () => {
    expect((await service.post('/v1/contacts/reveal', { name: 'Tim Twin', domain: 'acme.example' })).json['likelihood']).toBe(42);
    expect((await service.post('/v1/enrich', { name: 'Tim Twin', domain: 'acme.example', min_likelihood: 50 })).json['code']).toBe(
      'no_match',
    );
  });

  it('answers 451 for an erased person, by each key of that person', async () => {
    const open = openStore(store);
    suppress(open, ['ada@home.example'], 0);
    open.close();
    for (const body of [
      { email: 'ada@acme.example' },
      { email: 'ada@home.example' },
      { linkedin_url: 'linkedin.com/in/ada-example' },
      { phone: '+1 (212) 555-0100' },
      { id: 'pe_a' },
    ]) {
      const reply = await service.post('/v1/contacts/reveal', body);
      expect([reply.status, reply.json['code'], charged(reply)]).toEqual([451, 'suppressed_person', '0']);
    }
    // A name does not tell an erased person from a namesake.
    expect((await service.post('/v1/contacts/reveal', { name: 'Ada Example', domain: 'acme.example' })).status).toBe(404);
  });

  it.each([
    [{}, '', 'required'],
    [{ domain: 'acme.example' }, '', 'required'],
    [{ name: 'Ada' }, '', 'required'],
    [{ id: 'x', email: 'a@acme.example' }, '/id', 'ambiguous'],
    [{ id: 'x', domain: 'acme.example' }, '/domain', 'ambiguous'],
    [{ name: 'x', domain: 'acme.example', company: 'Acme' }, '/company', 'ambiguous'],
    [{ linkedin_url: 'ada' }, '/linkedin_url', 'invalid_url'],
    [{ phone: '555' }, '/phone', 'invalid_phone'],
    [{ name: 'x', domain: 'y' }, '/domain', 'invalid_domain'],
    [{ id: 'pe_a', reveal_mobile: 'no' }, '/reveal_mobile', 'type'],
    [{ linkedin: 'x' }, '/linkedin', 'unknown_field'],
    [{ name: 'Ada Example', company: ' ' }, '/company', 'invalid_company'],
    [{ name: 'Ada Example', company: '' }, '/company', 'empty'],
    [{ email: 'x'.repeat(2_049) }, '/email', 'too_long'],
  ])('refuses %j at %j: %s', async (body, pointer, code) => {
    const { status, json } = await service.post('/v1/contacts/reveal', body);
    expect([status, json['code']]).toEqual([422, 'validation_failed']);
    expect(json['errors']).toContainEqual(expect.objectContaining({ pointer, code }));
  });
});
