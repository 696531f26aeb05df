import { afterEach, describe, expect, test } from 'vitest';
import { startHunter, type HunterOptions } from './hunter.ts';
import type { StandIn } from './stand-in.ts';
import { personOf } from './world.ts';

let hunter: StandIn | undefined;

async function start(options: HunterOptions = {}): Promise<StandIn> {
  hunter = await startHunter(options);
  return hunter;
}

afterEach(() => hunter?.close());

interface Answer {
  readonly status: number;
  readonly body: {
    readonly data?: Readonly<Record<string, unknown>>;
    readonly errors?: readonly { readonly id: string; readonly code: number; readonly details: string }[];
  };
}

async function get(path: string, headers: Record<string, string> = { 'x-api-key': 'test-key' }): Promise<Answer> {
  const response = await fetch(`${hunter?.url}/v2/${path}`, { headers });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const errorOf = ({ status, body }: Answer): [number, string | undefined] => [status, body.errors?.[0]?.id];
const person = personOf(0);
const byName = `email-finder?domain=${person.domain}&first_name=${person.firstName}&last_name=${person.lastName}`;

describe('Hunter stand-in', () => {
  test('the key is taken from the query, from X-API-KEY and as a bearer, and another key is 401', async () => {
    await start();
    const path = `people/find?email=${person.email}`;
    expect((await get(`${path}&api_key=test-key`, {})).status).toBe(200);
    expect((await get(path)).status).toBe(200);
    expect((await get(path, { authorization: 'Bearer test-key' })).status).toBe(200);
    expect(errorOf(await get(path, { authorization: 'Bearer other' }))).toEqual([401, 'authentication_failed']);
    expect(errorOf(await get(path, {}))).toEqual([401, 'authentication_failed']);
  });

  test('the eleventh verification within a second is 403, and the next second takes requests again', async () => {
    let now = 1_000;
    const { counts } = await start({ clock: () => now });
    const path = `email-verifier?email=${person.email}`;
    for (let request = 0; request < 10; request++) expect((await get(path)).status).toBe(200);
    expect(errorOf(await get(path))).toEqual([403, 'too_many_requests']);
    expect(counts.refusedOther).toBe(1);
    now += 1_000;
    expect((await get(path)).status).toBe(200);
  });

  test('the finder takes 15 a second and 500 a minute, apart from the verifier', async () => {
    let now = 0;
    await start({ clock: () => now });
    for (let request = 0; request < 500; request++) {
      if (request % 15 === 0) now += 1_000;
      expect((await get(byName)).status).toBe(200);
    }
    now += 1_000;
    expect((await get(byName)).status).toBe(403);
    expect((await get(`email-verifier?email=${person.email}`)).status).toBe(200);
    now += 60_000;
    expect((await get(byName)).status).toBe(200);
  });

  test('a find costs one credit once, and a miss is a null email that costs nothing', async () => {
    const { counts, paidFor } = await start();
    expect((await get(byName)).body.data).toMatchObject({ email: person.email, domain: person.domain, company: person.company });
    expect((await get(`email-finder?linkedin_handle=person-0`)).body.data).toMatchObject({ email: person.email });
    expect(counts.charged).toBe(1);
    expect([...paidFor]).toEqual([[`reveal ${person.email}`, 1]]);
    const miss = await get('email-finder?domain=nobody.example&full_name=Nobody%20Here');
    expect(miss).toMatchObject({ status: 200, body: { data: { email: null, score: null } } });
    expect(counts).toMatchObject({ charged: 1, matched: 2, missed: 1 });
  });

  test('wrong parameters have the documented error ids', async () => {
    await start({ windows: [] });
    expect((await get('email-finder?first_name=Ada&last_name=Ba')).body.errors).toEqual([
      { id: 'wrong_params', code: 400, details: 'You are missing the domain parameter' },
    ]);
    expect(errorOf(await get('email-finder?domain=company-0.example&first_name=Ada'))).toEqual([400, 'wrong_params']);
    expect(errorOf(await get('email-finder?domain=company&full_name=Ada%20Ba'))).toEqual([400, 'invalid_domain']);
    expect(errorOf(await get('email-finder?domain=company-0.example&full_name=7'))).toEqual([400, 'invalid_full_name']);
    expect(errorOf(await get(`${byName}&max_duration=21`))).toEqual([400, 'invalid_max_duration']);
    expect(errorOf(await get('email-verifier'))).toEqual([400, 'wrong_params']);
    expect(errorOf(await get('email-verifier?email=person'))).toEqual([400, 'invalid_email']);
    expect(errorOf(await get('people/find'))).toEqual([400, 'wrong_params']);
    expect(errorOf(await get('companies/find'))).toEqual([400, 'wrong_params']);
    expect(errorOf(await get('nothing'))).toEqual([404, 'not_found']);
  });

  test('a verification in progress is 202 until its result, and is charged once', async () => {
    const { counts } = await start({ inProgress: () => 2 });
    const path = `email-verifier?email=${person.email}`;
    expect(await get(path)).toMatchObject({ status: 202, body: { data: {} } });
    expect((await get(path)).status).toBe(202);
    expect(counts.charged).toBe(0);
    expect(await get(path)).toMatchObject({ status: 200, body: { data: { status: 'valid', email: person.email } } });
    expect((await get(path)).status).toBe(200);
    expect(counts).toMatchObject({ requests: 4, charged: 0.5 });
  });

  test('each verdict has its status, and only valid, invalid and accept_all cost credits', async () => {
    const { counts, paidFor } = await start({ windows: [] });
    const statusOf = async (email: string): Promise<unknown> => (await get(`email-verifier?email=${email}`)).body.data?.['status'];
    expect(await statusOf(personOf(0).email)).toBe('valid');
    expect(await statusOf(personOf(3).email)).toBe('invalid');
    expect(await statusOf(personOf(5).email)).toBe('accept_all');
    expect(await statusOf(personOf(7).email)).toBe('unknown');
    expect(await statusOf('nobody@nowhere.example')).toBe('unknown');
    expect(await statusOf('webmail@mail.example')).toBe('webmail');
    expect(await statusOf('disposable@mail.example')).toBe('disposable');
    expect(await statusOf(personOf(0).email.toUpperCase())).toBe('valid');
    expect(counts.charged).toBe(1.5);
    expect(paidFor.size).toBe(3);
    expect((await get('email-verifier?email=smtp-failure@mail.example')).status).toBe(222);
    expect(errorOf(await get('email-verifier?email=claimed@mail.example'))).toEqual([451, 'claimed_email']);
  });

  test('enrichment answers people and companies, 404 for others, and charges a repeated request again', async () => {
    const { counts, paidFor } = await start();
    const found = await get(`people/find?email=${person.email}`);
    expect(found.body.data).toMatchObject({ email: person.email, employment: { domain: person.domain, title: person.title } });
    const both = await get(`combined/find?email=${person.email}`);
    expect(both.body.data).toMatchObject({ person: { email: person.email }, company: { domain: person.domain } });
    const company = await get('companies/find?domain=company-1.example');
    expect(company.body.data).toMatchObject({ name: 'Company 1', metrics: { employees: '11-50' } });
    expect(errorOf(await get('people/find?email=nobody@nowhere.example'))).toEqual([404, 'not_found']);
    expect(errorOf(await get('companies/find?domain=nowhere.example'))).toEqual([404, 'not_found']);
    expect(paidFor.get(`enrich ${person.email}`)).toBe(2);
    expect(counts).toMatchObject({ matched: 3, missed: 2, refusedOther: 0 });
    expect(counts.charged).toBeCloseTo(0.6);
  });

  test('a spent balance is 429, and the account tells what is used', async () => {
    const { counts } = await start({ credits: 1 });
    expect((await get(byName)).status).toBe(200);
    expect(errorOf(await get(byName))).toEqual([429, 'too_many_requests']);
    expect(counts.refused429).toBe(1);
    expect((await get('account')).body.data).toMatchObject({ requests: { credits: { used: 1, available: 1 } } });
  });
});
