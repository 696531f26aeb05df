import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DurableQuota } from '../../../src/service/accounts/durable-quota.ts';
import { UNITS_A_REQUEST } from '../../../src/service/search/search-operations.ts';
import { makeKey, makeStore, serveStore, type Reply, type Served } from '../harness.ts';

const KEYS = 1_000;
const named = (kind: string, end: string): string[] => Array.from({ length: KEYS }, (_, n) => `${kind}${n}${end}`);
/** Three thousand keys are looked up: more than one request pays for. */
const LONG = {
  domain: named('d', '.example'),
  exclude_domain: named('e', '.example'),
  linkedin_url: named('linkedin.com/in/p', ''),
};

let service: Served;
let key: string;
beforeEach(async () => {
  const store = await makeStore();
  service = await serveStore({ store });
  key = await makeKey(store, 'growth', { credits: 100 });
});

afterEach(() => {
  vi.restoreAllMocks();
});

function post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return service.request(path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

const units = ({ headers }: Reply): number => Number(headers.get('x-search-units'));

/** A document with as many searches of `LONG`. */
const longDocument = (count: number): { query: string; variables: unknown } => ({
  query: `query ($f: ContactFilter) { ${Array.from({ length: count }, (_, n) => `f${n}: contacts(filter: $f) { totalCount }`).join(' ')} }`,
  variables: { f: LONG },
});

/** The requests of the quota that are taken for work: the others of the key come back while the test runs. */
function owed(): number[] {
  return vi.spyOn(DurableQuota.prototype, 'owe').mock.calls.map(([, , , count]) => count);
}

describe('the price of a search', () => {
  it('a short search is one request of the quota, and its answer says how much work it was', async () => {
    const reply = await post('/v1/contacts/search', { country: 'DE' });
    expect(units(reply)).toBeGreaterThan(0);
    expect(units(reply)).toBeLessThan(100);
    expect(owed()).toEqual([]);
    // The same search takes the same work, by the query, too.
    const query = await service.request('/v1/contacts/search?country=DE', { headers: { authorization: `Bearer ${key}` } });
    expect(units(query)).toBe(units(reply));
  });

  it('a long search takes another request of the quota for each further 2,000 units, and no credits', async () => {
    owed();
    const reply = await post('/v1/contacts/search', LONG);
    expect(reply.status).toBe(200);
    expect(units(reply)).toBeGreaterThan(UNITS_A_REQUEST);
    expect(owed()).toEqual([Math.ceil(units(reply) / UNITS_A_REQUEST) - 1]);
    expect(reply.headers.get('x-credits-charged')).toBe('0');
  });

  it('a GraphQL document pays for the units of all its searches together', async () => {
    owed();
    const reply = await post('/v1/graphql', longDocument(3));
    expect(reply.json['errors']).toBeUndefined();
    expect(owed()).toEqual([Math.ceil(units(reply) / UNITS_A_REQUEST) - 3]);
    expect(units(reply)).toBe(3 * units(await post('/v1/contacts/search', LONG)));
    const other = await post('/v1/graphql', { query: '{ __typename }' });
    expect(other.headers.get('x-search-units')).toBeNull();
  });

  it('a search whose work the quota does not cover is answered, and the next requests wait for the refill', async () => {
    key = await makeKey(service.store, 'trial');
    // Each takes 16 of the 60 requests, the last 6 of them when it is done: the fourth one takes some that are not there. A slow machine
    // gets a request back each second meanwhile.
    owed();
    let answered = 0;
    let refused = await post('/v1/graphql', longDocument(10));
    for (; refused.status === 200 && answered < 12; answered++, refused = await post('/v1/graphql', longDocument(10)))
      expect(refused.json['errors']).toBeUndefined();
    expect(answered).toBeGreaterThanOrEqual(4);
    expect(owed().reduce((sum, count) => sum + count, 0)).toBe(6 * answered);
    expect([refused.status, refused.json['code'], refused.headers.get('x-ratelimit-remaining')]).toEqual([429, 'rate_limited', '0']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('a replay has the units of the first answer, and its work is not paid for again', async () => {
    owed();
    const first = await post('/v1/contacts/search', LONG, { 'idempotency-key': 'same' });
    const again = await post('/v1/contacts/search', LONG, { 'idempotency-key': 'same' });
    expect(units(again)).toBe(units(first));
    expect(owed()).toHaveLength(1);
  });
});
