/** The stand-in of Apollo does what the vendor's pages say. */
import { describe, expect, it } from 'vitest';
import { startApollo } from './apollo.ts';
import { ask, opened, type Answered } from './ask.ts';
import { companyOf, personOf } from './world.ts';

const MATCH = '/api/v1/people/match';
const BULK = '/api/v1/people/bulk_match';
const ENRICH = '/api/v1/organizations/enrich';
const BULK_ENRICH = '/api/v1/organizations/bulk_enrich';
const HOOK = 'reveal_phone_number=true&webhook_url=https%3A%2F%2Fhooks.example%2Fapollo';
const { email, firstName, lastName, company, domain, linkedinUrl, title, phone } = personOf(7);

/** The rate headers of an answer by their names; those that are missing are left out. */
function rates({ headers }: Answered): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => /^x-(?:rate-limit|minute|hourly|24-hour)|^retry-after/.test(name)));
}

describe('a person', () => {
  it('matches by address, profile, id, or name and employer, in the query or in JSON, for a credit each time', async () => {
    const apollo = await opened(startApollo());
    const byAddress = await ask(apollo, `${MATCH}?email=${encodeURIComponent(email)}`, {});
    expect(byAddress).toMatchObject({
      status: 200,
      body: { person: { email, title, email_status: 'unverified', organization: { primary_domain: domain } } },
    });
    const { id } = (byAddress.body as { readonly person: { readonly id: string } }).person;
    const named = { first_name: firstName, last_name: lastName };
    for (const keys of [
      { email },
      { linkedin_url: linkedinUrl },
      { id },
      { ...named, domain },
      { name: `${firstName} ${lastName}`, organization_name: company },
    ])
      expect(await ask(apollo, MATCH, keys)).toMatchObject({ body: { person: { email } } });
    expect(apollo.paidFor).toEqual(new Map([[`enrich ${email}`, 6]]));
  });

  it('answers 200 with null and no charge for an unknown person, or for a name alone', async () => {
    const apollo = await opened(startApollo({ knows: () => false }));
    for (const keys of [{ email }, { name: `${firstName} ${lastName}` }])
      expect(await ask(apollo, MATCH, keys)).toMatchObject({ status: 200, body: { person: null } });
    expect(apollo.counts).toMatchObject({ lookups: 2, missed: 2, charged: 0 });
  });

  it('writes null for fields that the vendor lacks, and charges nothing when it has none', async () => {
    const apollo = await opened(startApollo({ fields: (_, index) => (index === 7 ? ['title'] : []) }));
    expect(await ask(apollo, MATCH, { email })).toMatchObject({
      body: { person: { title, email: null, email_status: 'unavailable', organization: null } },
    });
    expect(await ask(apollo, MATCH, { email: personOf(8).email })).toMatchObject({ status: 200 });
    expect(apollo.counts).toMatchObject({ matched: 2, charged: 1 });
  });

  it('gets phones by a later poll for 8 credits more, under an id that exceeds the numbers of JavaScript', async () => {
    let now = 0;
    const apollo = await opened(startApollo({ clock: () => now }));
    const response = await fetch(`${apollo.url}${MATCH}?${HOOK}&email=${email}`, { method: 'POST', headers: { 'x-api-key': 'test-key' } });
    const id = /"request_id":(-?\d+)\}$/.exec(await response.text())?.[1] ?? '';
    expect(id).toBe('1039995589705121900');
    const poll = `/api/v1/webhook_result/${id}`;
    expect(await ask(apollo, poll)).toMatchObject({ status: 404, body: { error_code: 'result_pending', retry_after_seconds: 10 } });
    now = 10_000;
    const people = [{ status: 'success', phone_numbers: [{ sanitized_number: phone }] }];
    expect(await ask(apollo, poll)).toMatchObject({ status: 200, body: { request_id: id, webhook_result: { people } } });
    expect(await ask(apollo, '/api/v1/webhook_result/1')).toMatchObject({ status: 404, body: { error_code: 'request_id_unknown' } });
    expect(await ask(apollo, '/api/v1/webhook_result/9223372036854775808')).toMatchObject({ status: 400 });
    expect(apollo.counts).toMatchObject({ charged: 9 });
  });
});

describe('a batch', () => {
  it('answers matches in order with null for a miss, and charges once for a person that is in its data twice', async () => {
    const apollo = await opened(startApollo({ knows: (_, index) => index !== 8 }));
    const details = [7, 8, 7].map((index) => ({ email: personOf(index).email }));
    const { body } = await ask(apollo, BULK, { details });
    expect(body).toMatchObject({
      status: 'success',
      total_requested_enrichments: 3,
      unique_enriched_records: 1,
      missing_records: 1,
      credits_consumed: 1,
      matches: [{ email }, null, { email }],
    });
    expect(apollo.counts).toMatchObject({ requests: 1, lookups: 3, matched: 2, missed: 1, charged: 1 });
  });

  it('takes 1 to 10 entries', async () => {
    const apollo = await opened(startApollo());
    const details = Array.from({ length: 11 }, (_, index) => ({ email: personOf(index).email }));
    const refused = (code: string): object => ({ status: 400, body: { status: 'failed', error_code: code } });
    expect(await ask(apollo, BULK, { details })).toMatchObject(refused('RECORD_LIMIT_EXCEEDED'));
    expect(await ask(apollo, BULK, { details: [] })).toMatchObject(refused('INVALID_REQUEST'));
    expect(await ask(apollo, BULK, { details }, { headers: { 'content-type': 'text/plain' } })).toMatchObject(refused('INVALID_REQUEST'));
    expect(await ask(apollo, BULK, { details: ['x'] })).toMatchObject({ status: 422, body: { error_code: 'UNKNOWN_ERROR' } });
    expect(await ask(apollo, BULK, { details: details.slice(1) })).toMatchObject({ status: 200, body: { credits_consumed: 10 } });
    expect(apollo.counts).toMatchObject({ lookups: 10, charged: 10, refusedOther: 4 });
  });

  it('charges nothing when the balance does not cover it', async () => {
    const apollo = await opened(startApollo({ credits: 2 }));
    const details = [1, 2, 3].map((index) => ({ email: personOf(index).email }));
    const tooFew = { status: 422, body: { error: 'Insufficient credits. Please upgrade your plan.' } };
    expect(await ask(apollo, BULK, { details })).toMatchObject(tooFew);
    expect(await ask(apollo, BULK, { details: details.slice(1) })).toMatchObject({ status: 200 });
    expect(await ask(apollo, MATCH, { email })).toMatchObject(tooFew);
    expect(apollo.counts).toMatchObject({ charged: 2 });
  });
});

describe('an organization', () => {
  it('matches by domain, name, website or profile, alone or in a batch', async () => {
    const apollo = await opened(startApollo({ knowsCompany: ({ number }) => number !== 3 }));
    const { name, domain, employees } = companyOf(2);
    for (const keys of [
      { domain },
      { name },
      { website: `http://www.${domain}` },
      { linkedin_url: 'http://www.linkedin.com/company/company-2' },
    ])
      expect(await ask(apollo, `${ENRICH}?${new URLSearchParams(keys).toString()}`)).toMatchObject({
        body: { organization: { primary_domain: domain, estimated_num_employees: employees } },
      });
    expect(await ask(apollo, `${ENRICH}?domain=company-3.example`)).toMatchObject({ status: 200, body: { organization: null } });
    const answer = { unique_enriched_records: 1, missing_records: 1, organizations: [{ name }, null] };
    expect(await ask(apollo, BULK_ENRICH, { details: [{ domain }, { domain: 'company-3.example' }, { name }] })).toMatchObject({
      body: { ...answer, organizations: [{ name }, null, { name }] },
    });
    expect(await ask(apollo, `${BULK_ENRICH}?domains[]=${domain}&domains[]=company-3.example`, {})).toMatchObject({ body: answer });
    expect(apollo.paidFor).toEqual(new Map([[`company ${domain}`, 6]]));
  });

  it('refuses a request without keys as its page shows it', async () => {
    const apollo = await opened(startApollo());
    expect(await ask(apollo, ENRICH)).toMatchObject({ status: 422, body: { error: "Required parameter 'domain' missing" } });
    const { status, body, headers } = await ask(apollo, BULK_ENRICH, {});
    expect([status, headers.get('content-type')]).toEqual([400, 'text/plain; charset=utf-8']);
    expect(JSON.parse(body as string)).toMatchObject({ error_code: 'INVALID_REQUEST', error_message: 'invalid request, missing domains' });
  });
});

describe('a request that is not as the pages say', () => {
  it('gets the documented 401, 403 and 404 without rate headers, and a 422', async () => {
    const apollo = await opened(startApollo({ scope: ['api/v1/people/match'] }));
    const refused = [
      await ask(apollo, MATCH, { email }, { headers: { 'x-api-key': 'other' } }),
      await ask(apollo, BULK, { details: [{ email }] }),
      await ask(apollo, `${MATCH}?email=${email}`),
    ];
    expect(refused).toMatchObject([
      { status: 401, body: 'Invalid API key. See https://docs.apollo.io/reference/authentication for how to authenticate.' },
      { status: 403, body: { error_code: 'API_INACCESSIBLE' } },
      { status: 404 },
    ]);
    expect(refused.map(rates)).toEqual([{}, {}, {}]);
    for (const body of [
      {},
      { email, mail: email },
      { email, reveal_phone_number: true },
      { email, reveal_phone_number: true, webhook_url: 'http://x.example' },
    ])
      expect(await ask(apollo, MATCH, body)).toMatchObject({ status: 422, body: { error: expect.any(String) as string } });
    expect(apollo.counts).toMatchObject({ refusedOther: 7, lookups: 0 });
  });
});

describe('the windows', () => {
  it('holds a free plan to its minute, hour and day, apart for each endpoint, and tells them in headers', async () => {
    let now = 0;
    const apollo = await opened(startApollo({ plan: 'free', clock: () => now }));
    const batch = { details: [{ email }] };
    for (let count = 1; count < 20; count++) await ask(apollo, BULK, batch);
    now = 59_500;
    const full = { 'x-rate-limit-minute': '20', 'x-minute-usage': '20', 'x-minute-requests-left': '0' };
    const others = { 'x-rate-limit-hourly': '100', 'x-hourly-usage': '20', 'x-hourly-requests-left': '80' };
    const day = { 'x-rate-limit-24-hour': '600', 'x-24-hour-usage': '20', 'x-24-hour-requests-left': '580' };
    expect(rates(await ask(apollo, BULK, batch))).toEqual({ ...full, ...others, ...day });
    const refused = await ask(apollo, BULK, batch);
    expect(refused).toMatchObject({
      status: 429,
      body: {
        message: expect.stringMatching(
          /^The maximum number of api calls allowed for api\/v1\/people\/bulk_match is 20 times per minute\./,
        ) as string,
      },
    });
    expect(rates(refused)).toEqual({ ...full, ...others, ...day, 'retry-after': '1' });
    expect(await ask(apollo, MATCH, { email })).toMatchObject({ status: 200 });
    now = 60_000;
    expect(await ask(apollo, BULK, batch)).toMatchObject({ status: 200 });
    expect(apollo.counts).toMatchObject({ refused429: 1, charged: 22 });
  });

  it('leaves the limits by hour and day of a paid plan empty', async () => {
    const apollo = await opened(startApollo());
    const minute = { 'x-rate-limit-minute': '1000', 'x-minute-usage': '1', 'x-minute-requests-left': '999' };
    expect(rates(await ask(apollo, MATCH, { email }))).toEqual({ ...minute, 'x-rate-limit-hourly': '', 'x-rate-limit-24-hour': '' });
  });

  it('takes other limits for each endpoint, as legacy plans have them', async () => {
    const windows = (route: string) => [{ name: 'hour' as const, limit: route.includes('bulk') ? 1 : 10, ms: 5_000 }];
    const apollo = await opened(startApollo({ windows, clock: () => 0 }));
    await ask(apollo, BULK, { details: [{ email }] });
    expect(await ask(apollo, BULK, { details: [{ email }] })).toMatchObject({ status: 429 });
    expect(rates(await ask(apollo, MATCH, { email }))).toMatchObject({ 'x-rate-limit-hourly': '10', 'x-rate-limit-minute': '' });
  });
});
