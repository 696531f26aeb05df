/** The stand-in of People Data Labs does what the vendor's pages say. */
import { describe, expect, it } from 'vitest';
import { ask, opened } from './ask.ts';
import { startPeopleDataLabs } from './people-data-labs.ts';
import { companyOf, personOf } from './world.ts';

const ENRICH = '/v5/person/enrich';
const BULK = '/v5/person/bulk';
const { email, firstName, lastName, company, domain, linkedinUrl, phone } = personOf(7);
const MISS = { status: 404, error: { type: 'not_found', message: 'No records were found matching your request' } };

const failure = (status: number, type: string): unknown => ({ status, error: { type, message: expect.any(String) as string } });

describe('a person', () => {
  it('finds a person by address, profile, phone, or name and company, for a credit each time', async () => {
    const pdl = await opened(startPeopleDataLabs());
    const queries = [{ email }, { profile: linkedinUrl }, { phone }, { first_name: firstName, last_name: lastName, company: domain }];
    for (const query of [...queries, { name: `${firstName} ${lastName}`, company }]) {
      const { status, body, headers } = await ask(pdl, `${ENRICH}?${new URLSearchParams(query).toString()}`);
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { status: 200, data: { work_email: email, job_company_website: domain } },
      });
      expect([headers.get('x-call-credits-spent'), headers.get('x-call-credits-type')]).toEqual(['1', 'enrich']);
    }
    expect(pdl.counts).toMatchObject({ requests: 5, lookups: 5, matched: 5, missed: 0, charged: 5 });
    expect(pdl.paidFor).toEqual(new Map([[`enrich ${email}`, 5]]));
  });

  it('answers 404 without a charge for a person that the vendor lacks', async () => {
    const pdl = await opened(startPeopleDataLabs({ knows: (_, index) => index !== 7 }));
    const { status, body, headers } = await ask(pdl, ENRICH, { email: [email] });
    expect({ status, body, spent: headers.get('x-call-credits-spent') }).toEqual({ status: 404, body: MISS, spent: '0' });
    expect(pdl.counts).toMatchObject({ missed: 1, refusedOther: 0, charged: 0 });
  });

  it('writes null for missing fields, and misses when `required` or `min_likelihood` asks for more', async () => {
    const pdl = await opened(startPeopleDataLabs({ fields: () => ['email', 'title'] }));
    const { body } = await ask(pdl, ENRICH, { email });
    expect(body).toMatchObject({ data: { work_email: email, job_title: 'head of sales', mobile_phone: null, full_name: null } });
    expect(await ask(pdl, ENRICH, { email, required: 'work_email AND (mobile_phone OR job_title)' })).toMatchObject({ status: 200 });
    expect(await ask(pdl, ENRICH, { email, required: 'work_email AND mobile_phone' })).toMatchObject({ status: 404 });
    const named = { name: `${firstName} ${lastName}`, company };
    expect(await ask(pdl, ENRICH, { ...named, min_likelihood: 6 })).toMatchObject({ status: 200, body: { likelihood: 6 } });
    expect(await ask(pdl, ENRICH, { ...named, min_likelihood: 7 })).toMatchObject({ status: 404, body: MISS });
  });
});

describe('a request that is not as the pages say', () => {
  it('refuses each kind of bad request with the documented type', async () => {
    const pdl = await opened(startPeopleDataLabs());
    expect(await ask(pdl, `${ENRICH}?email=${email}`, undefined, { headers: { 'x-api-key': 'other' } })).toMatchObject({
      status: 401,
      body: failure(401, 'authentication_error'),
    });
    for (const body of [
      {},
      { email: ' ' },
      { first_name: 'Ada', company },
      { name: 'Ada Ba' },
      { email, e_mail: email },
      { email, min_likelihood: 11 },
    ])
      expect(await ask(pdl, ENRICH, body)).toMatchObject({ status: 400, body: failure(400, 'invalid_request_error') });
    expect(await ask(pdl, ENRICH, { email }, { headers: { 'content-type': 'text/plain' } })).toMatchObject({ status: 400 });
    expect(await ask(pdl, BULK)).toMatchObject({ status: 405, body: failure(405, 'invalid_request_error') });
    expect(await ask(pdl, '/v5/company/enrich', { website: domain })).toMatchObject({ status: 405 });
    expect(await ask(pdl, '/v4/person')).toMatchObject({ status: 404 });
    expect(pdl.counts).toMatchObject({ lookups: 0, refusedOther: 11, charged: 0 });
  });

  it('takes the key from the query too', async () => {
    const pdl = await opened(startPeopleDataLabs({ apiKey: 'k' }));
    expect(await ask(pdl, `${ENRICH}?email=${email}&api_key=k`, undefined, { headers: { 'x-api-key': 'k' } })).toMatchObject({
      status: 200,
    });
    const response = await fetch(`${pdl.url}${ENRICH}?email=${email}&api_key=k`);
    expect(response.status).toBe(200);
  });
});

describe('a batch', () => {
  it('answers each entry in order with its status and metadata, and charges the matches', async () => {
    const pdl = await opened(startPeopleDataLabs({ knows: (_, index) => index !== 8 }));
    const requests = [
      { params: { email }, metadata: { row: 1 } },
      { params: { email: personOf(8).email }, metadata: { row: 2 } },
      { params: { first_name: 'Ada' } },
    ];
    const { status, body, headers } = await ask(pdl, BULK, { requests });
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { status: 200, likelihood: 10, data: { work_email: email }, metadata: { row: 1 } },
      { ...MISS, metadata: { row: 2 } },
      failure(400, 'invalid_request_error'),
    ]);
    expect(headers.get('x-call-credits-spent')).toBe('1');
    expect(pdl.counts).toMatchObject({ requests: 1, lookups: 2, matched: 1, missed: 1, charged: 1 });
  });

  it('takes 1 to 100 entries', async () => {
    const pdl = await opened(startPeopleDataLabs());
    const requests = Array.from({ length: 101 }, (_, index) => ({ params: { email: personOf(index).email } }));
    expect(await ask(pdl, BULK, { requests })).toMatchObject({ status: 400 });
    expect(await ask(pdl, BULK, { requests: [] })).toMatchObject({ status: 400 });
    expect(await ask(pdl, BULK, { requests: [{ email }] })).toMatchObject({ status: 400 });
    expect(await ask(pdl, BULK, { requests: requests.slice(1) })).toMatchObject({ status: 200 });
    expect(pdl.counts).toMatchObject({ lookups: 100, charged: 100 });
  });

  it('answers 402 in the entries beyond the balance, and to the next request', async () => {
    const pdl = await opened(startPeopleDataLabs({ credits: 2 }));
    const requests = [1, 2, 3].map((index) => ({ params: { email: personOf(index).email } }));
    const { body, headers } = await ask(pdl, BULK, { requests });
    expect(body).toMatchObject([{ status: 200 }, { status: 200 }, failure(402, 'payment_required')]);
    expect([headers.get('x-totallimit-remaining'), headers.get('x-lifetime-used')]).toEqual(['0', '2']);
    expect(await ask(pdl, ENRICH, { email })).toMatchObject({ status: 402, body: failure(402, 'payment_required') });
  });
});

describe('a company', () => {
  it('finds a company by website, name, profile or id, with its fields beside `status`', async () => {
    const pdl = await opened(startPeopleDataLabs({ knowsCompany: ({ number }) => number !== 3 }));
    const { name, domain, employees } = companyOf(2);
    for (const query of [{ website: domain }, { name }, { profile: 'linkedin.com/company/company-2' }, { pdl_id: 'company-2' }]) {
      const { body } = await ask(pdl, `/v5/company/enrich?${new URLSearchParams(query).toString()}`);
      expect(body).toMatchObject({ status: 200, website: domain, employee_count: employees, size: '51-200', likelihood: 10 });
    }
    const requests = [{ params: { website: domain } }, { params: { website: 'company-3.example' } }];
    const { body, headers } = await ask(pdl, '/v5/company/enrich/bulk', { requests });
    expect(body).toMatchObject([{ status: 200, display_name: name }, MISS]);
    expect(headers.get('x-call-credits-type')).toBe('enrich_company');
    expect(pdl.paidFor).toEqual(new Map([[`company ${domain}`, 5]]));
  });
});

describe('the windows', () => {
  it('keeps a fixed window for each endpoint, and the headers name the second of its reset', async () => {
    let now = Date.UTC(2026, 0, 1, 12, 0, 0, 500);
    const pdl = await opened(startPeopleDataLabs({ clock: () => now, windows: [{ name: 'minute', limit: 2 }] }));
    const rates = async (path = ENRICH, body: unknown = { email }): Promise<unknown[]> => {
      const { status, headers } = await ask(pdl, path, body);
      return [status, headers.get('x-ratelimit-remaining'), headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-reset')];
    };
    expect(await rates()).toEqual([200, "{'minute': 1}", "{'minute': 2}", '2026-01-01T12:01:01Z']);
    now += 59_000;
    expect(await rates()).toEqual([200, "{'minute': 0}", "{'minute': 2}", '2026-01-01T12:01:01Z']);
    expect(await rates()).toEqual([429, "{'minute': 0}", "{'minute': 2}", '2026-01-01T12:01:01Z']);
    expect(await rates(BULK, { requests: [{ params: { email } }] })).toEqual([
      200,
      "{'minute': 1}",
      "{'minute': 2}",
      '2026-01-01T12:02:00Z',
    ]);
    now += 1_000;
    expect(await rates()).toEqual([200, "{'minute': 1}", "{'minute': 2}", '2026-01-01T12:02:01Z']);
    expect(pdl.counts).toMatchObject({ requests: 5, refused429: 1, refusedOther: 0, charged: 4 });
  });

  it('allows a paying customer 1,000 requests a minute, and refuses the next with the documented body', async () => {
    const pdl = await opened(startPeopleDataLabs({ rateHeaders: 'json', clock: () => 0 }));
    const { headers } = await ask(pdl, ENRICH, { email });
    expect(JSON.parse(headers.get('x-ratelimit-limit') ?? '')).toEqual({ minute: 1_000, day: null, month: null });
    await Promise.all(Array.from({ length: 999 }, () => ask(pdl, ENRICH, { email })));
    const message = 'An error occurred due to requests hitting the API too quick';
    const refused = await ask(pdl, ENRICH, { email });
    expect(refused).toMatchObject({ status: 429, body: { status: 429, error: { type: 'rate_limit_error', message } } });
    expect(refused.headers.get('retry-after')).toBeNull();
  });
});
