import { beforeEach, describe, expect, it } from 'vitest';
import { loadPeople } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { KEY, makeKey, makeStore, serveStore, type Reply, type Served } from '../harness.ts';

/** One more than a value may have. */
const MANY_WORDS = Array.from({ length: 21 }, (_, n) => `w${n}`).join('+');
const AUTH = { authorization: `Bearer ${KEY}` };

let service: Served;
beforeEach(async () => {
  const store = await makeStore((open) => {
    loadPeople(
      open,
      Array.from({ length: 30 }, (_, n) => ({
        id: `s_${String(n).padStart(2, '0')}`,
        email: `s${n}@acme.example`,
        name: `Sam ${n}`,
        title: n % 2 === 0 ? 'Sales, EMEA' : 'Engineer',
        company_domain: 'acme.example',
        mobile: n === 0 ? '+12125550100' : undefined,
        updated_at: `2026-01-${String(1 + (n % 3)).padStart(2, '0')}`,
      })),
      'test',
    );
  });
  service = await serveStore({ store });
});

const find = (query: string): Promise<Reply> => service.request(`/v1/contacts/search?${query}`, { headers: AUTH });
const ids = ({ json }: Reply): string[] => (json['data'] as { id: string }[]).map(({ id }) => id);
const meta = ({ json }: Reply): Record<string, unknown> => json['meta'] as Record<string, unknown>;

describe('GET /v1/contacts/search', () => {
  it('takes the query of the specification, and shows who can be reached without addresses and numbers', async () => {
    const reply = await find('title=sales&country=&headcount=1-50'.replace('country=&', ''));
    expect(meta(reply)).toMatchObject({ total: 15, total_relation: 'eq', limit: 25, next_cursor: null });
    expect(reply.headers.get('x-credits-charged')).toBe('0');
    const [first] = reply.json['data'] as Record<string, unknown>[];
    expect(first).toMatchObject({
      id: 's_00',
      name: 'Sam 0',
      has_email: true,
      has_mobile: true,
      email_status: null,
      company: { name: 'Acme', domain: 'acme.example', employees: 42 },
    });
    expect(reply.text).not.toMatch(/s0@acme|2125550100/);
  });

  it('pages to the end with each person once while others are added, and links to the next page', async () => {
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; ; page++) {
      const reply = await find(`name=sam&sort=-updated_at&limit=7${cursor}`);
      seen.push(...ids(reply));
      if (page === 1) {
        const open = openStore(service.store);
        loadPeople(
          open,
          [{ id: 'late', email: 'late@acme.example', name: 'Sam Late', company_domain: 'acme.example', updated_at: '2026-05-05' }],
          'test',
        );
        open.close();
      }
      const next = meta(reply)['next_cursor'] as string | null;
      if (next === null) {
        expect(reply.headers.get('link')).toBeNull();
        break;
      }
      expect(reply.headers.get('link')).toBe(`</v1/contacts/search?name=sam&sort=-updated_at&limit=7&cursor=${next}>; rel="next"`);
      cursor = `&cursor=${next}`;
    }
    expect([...seen].sort()).toEqual(Array.from({ length: 30 }, (_, n) => `s_${String(n).padStart(2, '0')}`));
  });

  it('links to the next page of a query whose values contain question marks', async () => {
    const first = await find('domain=https://acme.example/?from=mail&name=sam&limit=29');
    const [, next = ''] = /^<(.*)>; rel="next"$/.exec(first.headers.get('link') ?? '') ?? [];
    const last = await service.request(next, { headers: AUTH });
    expect([last.status, meta(last)]).toEqual([200, { total: 30, total_relation: 'eq', limit: 29, next_cursor: null }]);
    expect([...ids(first), ...ids(last)].sort()).toEqual(Array.from({ length: 30 }, (_, n) => `s_${String(n).padStart(2, '0')}`));
  });

  it('ORs values, repeated or separated by commas, and takes the values of a body whole', async () => {
    expect(meta(await find('title=engineer&title=sales&limit=1'))['total']).toBe(30);
    expect(meta(await find('title=engineer,cto&limit=1'))['total']).toBe(16);
    const reply = await service.post('/v1/contacts/search', {
      title: ['Sales, EMEA'],
      title_match: 'exact',
      limit: 3,
      has_mobile: true,
      fields: ['id', 'has_mobile'],
    });
    expect(reply.json).toEqual({
      data: [{ id: 's_00', has_mobile: true }],
      meta: { total: 1, total_relation: 'eq', limit: 3, next_cursor: null },
    });
  });

  it.each([
    ['fields=', 'invalid_parameter', 'fields', /^fields has an empty value$/],
    ['title=%E0%A4', 'invalid_parameter', null, /percent-encoded/],
    ['fist_name=a&titel=b', 'unknown_parameter', 'titel', /did you mean first_name\? \(and 1 more\)/],
    ['titel=cto', 'unknown_parameter', 'titel', /did you mean title\?/],
    ['headcount=many', 'invalid_parameter', 'headcount', /no range/],
    ['headcount=50-5', 'invalid_parameter', 'headcount', /ends before it begins/],
    ['country=Germany', 'invalid_parameter', 'country', /no country code/],
    ['naics=5', 'invalid_parameter', 'naics', /no code: write 2 to 8 digits/],
    ['sic=retail', 'invalid_parameter', 'sic', /no code: write 2 to 8 digits/],
    ['near=52,13', 'invalid_parameter', 'near', /no circle/],
    ['near=95,13,1', 'invalid_parameter', 'near', /not on the Earth/],
    ['updated_since=2026-02-30', 'invalid_parameter', 'updated_since', /no date/],
    ['has_email=maybe', 'invalid_parameter', 'has_email', /true or false/],
    ['domain=x', 'invalid_parameter', 'domain', /no domain name/],
    ['department_headcount=10-50', 'invalid_parameter', 'department_headcount', /no department and range/],
    ['signal=gossip', 'invalid_parameter', 'signal', /must be one of/],
    ['title=', 'invalid_parameter', 'title', /empty value/],
    ['title=%20%2C', 'invalid_parameter', 'title', /empty value/],
    ['q=%21%21', 'invalid_parameter', 'q', /no word/],
    ['q=a+b+c+d+e+f+g+h+i+j+k', 'invalid_parameter', 'q', /more than 10 words/],
    [
      Array.from({ length: 11 }, (_, n) => `near=52,${n},1`).join('&'),
      'invalid_parameter',
      'near',
      /^near has 11 values; at most 10 are allowed$/,
    ],
    [`title=cto,${MANY_WORDS}`, 'invalid_parameter', 'title', /has a value of more than 20 words/],
    [`title_match=any&exclude_title=${MANY_WORDS}`, 'invalid_parameter', 'exclude_title', /has a value of more than 20 words/],
    [`company=${MANY_WORDS}`, 'invalid_parameter', 'company', /has a value of more than 20 words/],
    [`city=${'a,'.repeat(200)}b`, 'invalid_parameter', 'city', /more than 200 values/],
    ['title=cto&title_match=some', 'invalid_parameter', 'title', /must be one of all, any, exact/],
    ['title=cto&title_match=any&title_match=exact', 'invalid_parameter', 'title_match', /more than once/],
    ['signal_since=2026-01-01&signal_since=2026-02-01', 'invalid_parameter', 'signal_since', /more than once/],
    ['limit=0', 'invalid_parameter', 'limit', /from 1 to 100/],
    ['limit=101', 'invalid_parameter', 'limit', /from 1 to 100/],
    ['limit=1&limit=2', 'invalid_parameter', 'limit', /more than once/],
    ['sort=age', 'invalid_parameter', 'sort', /relevance, updated_at, name, headcount/],
    ['cursor=nonsense', 'invalid_parameter', 'cursor', /next_cursor as it was/],
    ['fields=id,nmae', 'invalid_parameter', 'fields', /did you mean name\?/],
    [`domain=${'a.example,'.repeat(1_000)}b.example`, 'invalid_parameter', 'domain', /at most 1000/],
  ])('refuses %s', async (query, code, parameter, detail) => {
    const { status, json } = await find(query);
    expect([status, json['code'], json['detail']]).toEqual([400, code, expect.stringMatching(detail)]);
    if (parameter !== null) expect(json['errors']).toContainEqual(expect.objectContaining({ parameter }));
  });

  it('takes ten circles and a value of twenty words, some of them repeated', async () => {
    const circles = Array.from({ length: 10 }, (_, n) => `near=52,${n},1`).join('&');
    expect(meta(await find(`${circles}&title=${MANY_WORDS.replace('w20', 'w0')}`))['total']).toBe(0);
  });

  it('refuses a cursor of another search or order', async () => {
    const cursor = String(meta(await find('name=sam&limit=1'))['next_cursor']);
    expect((await find(`name=sam&limit=3&cursor=${cursor}`)).status).toBe(200);
    for (const other of ['name=jane', 'name=sam&sort=name', 'title=cto'])
      expect((await find(`${other}&cursor=${cursor}`)).json['code']).toBe('invalid_parameter');
  });

  it('points at the wrong member of a body', async () => {
    for (const [body, pointer, code] of [
      [[], '', 'type'],
      [{ titel: 'x' }, '/titel', 'unknown_field'],
      [{ title: { a: 1 } }, '/title', 'type'],
      [{ limit: 0 }, '/limit', 'range'],
      [{ headcount: 'x' }, '/headcount', 'range'],
    ] as const) {
      const { status, json } = await service.post('/v1/contacts/search', body);
      expect([status, json['code']]).toEqual([422, 'validation_failed']);
      expect(json['errors']).toContainEqual(expect.objectContaining({ pointer, code }));
    }
  });

  it('costs nothing, serves a key without credits, and refuses a request without a key', async () => {
    const key = await makeKey(service.store, 'growth', { credits: 0 });
    expect((await service.request('/v1/contacts/search', { headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
    expect((await service.request('/v1/contacts/search')).status).toBe(401);
    expect((await service.request('/v1/contacts/search', { method: 'DELETE', headers: AUTH })).headers.get('allow')).toBe(
      'GET, HEAD, POST',
    );
  });
});
