import { beforeEach, describe, expect, it } from 'vitest';
import { MAX_SIGNAL_VALUES } from '../../../src/service/signals/signals-operation.ts';
import { loadCompanies, loadSignals } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { KEY, makeKey, makeStore, serveStore, type Reply, type Served } from '../harness.ts';

const AUTH = { authorization: `Bearer ${KEY}` };
const signal = (n: number, type = 'funding', domain = 'acme.example'): Record<string, unknown> => ({
  id: `sg_${n}`,
  type,
  company: { domain, name: 'Told' },
  occurred_at: `2026-01-${String(n).padStart(2, '0')}`,
  data: type === 'exec_moves' ? { move: 'joined', from: { name: 'Acme', note: 'x' }, to: 'CTO', note: 'x' } : { note: n },
});

let store: string;
let service: Served;
beforeEach(async () => {
  store = await makeStore((open) => {
    // Known out of order.
    loadSignals(open, [signal(3), signal(1), signal(2, 'exec_moves', 'other.example'), signal(5, 'hiring'), signal(4)], 'test');
    loadCompanies(open, [{ domain: 'other.example', name: 'Other', industry: 'Retail', hq: { country_code: 'DE' } }], 'test');
  });
  service = await serveStore({ store });
});

const get = (query = '', headers: Record<string, string> = {}): Promise<Reply> =>
  service.request(`/v1/signals${query}`, { headers: { ...AUTH, ...headers } });
const ids = ({ json }: Reply): unknown[] => (json['data'] as { id: string }[]).map(({ id }) => id);

describe('GET /v1/signals', () => {
  it('answers a page with the newest first, in the documented form', async () => {
    const reply = await get();
    expect(ids(reply)).toEqual(['sg_5', 'sg_4', 'sg_3', 'sg_2', 'sg_1']);
    expect(reply.headers.get('x-credits-charged')).toBe('0');
    expect((reply.json['data'] as unknown[])[3]).toEqual({
      id: 'sg_2',
      type: 'executive_move',
      subtype: null,
      occurred_at: '2026-01-02T00:00:00Z',
      detected_at: expect.any(String) as string,
      confidence: null,
      source_url: null,
      company: {
        id: expect.any(String) as string,
        name: 'Other',
        domain: 'other.example',
        employees: null,
        industry: 'Retail',
        hq: { name: null, city: null, region: null, country: null, country_code: 'DE', postal_code: null, lat: null, lng: null },
      },
      person: null,
      data: { move: 'joined', from: { name: 'Acme', domain: null, title: null }, to: 'CTO', effective_on: null },
    });
  });

  // These answers wait until the journal has written their quota.
  it.each(['growth', 'trial'] as const)('answers each request of a key of the plan %s once', async (plan) => {
    const authorization = `Bearer ${await makeKey(store, plan)}`;
    for (const [method, query, status] of [
      ['GET', '', 200],
      ['HEAD', '', 200],
      ['GET', '?limit=0', 400],
      ['GET', '', 200],
    ] as const)
      expect((await service.request(`/v1/signals${query}`, { method, headers: { authorization } })).status).toBe(status);
  });

  it('answers a page to a client that refuses streams', async () => {
    for (const accept of [
      'application/x-ndjson;q=0',
      'text/event-stream;q=0',
      'text/event-stream;q=0.2, application/x-ndjson;q=0, application/json',
    ])
      expect(ids(await get('', { accept }))).toHaveLength(5);
  });

  it.each([
    ['?type=funding', ['sg_4', 'sg_3', 'sg_1']],
    ['?type=exec_moves,hiring', ['sg_5', 'sg_2']],
    ['?type=executive_move', ['sg_2']],
    ['?since=2026-01-03', ['sg_5', 'sg_4', 'sg_3']],
    ['?since=2026-01-02&until=2026-01-03', ['sg_3', 'sg_2']],
    ['?domain=www.other.example', ['sg_2']],
    ['?country=de', ['sg_2']],
    ['?industry=RETAIL&type=funding', []],
  ])('finds by %s the signals %j', async (query, expected) => {
    expect(ids(await get(query))).toEqual(expected);
  });

  it('pages to the end while new signals arrive', async () => {
    const first = await get('?limit=2');
    const { next_cursor: cursor } = first.json['meta'] as { next_cursor: string };
    expect(first.headers.get('link')).toContain(encodeURIComponent(cursor));
    const open = openStore(store);
    loadSignals(open, [signal(9)], 'test');
    open.close();
    const second = await get(`?limit=2&cursor=${cursor}`);
    const third = await get(`?limit=2&cursor=${(second.json['meta'] as { next_cursor: string }).next_cursor}`);
    expect([...ids(first), ...ids(second), ...ids(third)]).toEqual(['sg_5', 'sg_4', 'sg_3', 'sg_2', 'sg_1']);
    expect(third.json['meta']).toEqual({ limit: 2, next_cursor: null });
  });

  it('reports an empty value once', async () => {
    expect((await get('?type=,funding&since=2026-01-01&until=2026-01-01')).json['errors']).toEqual([
      { parameter: 'type', code: 'empty', detail: 'type has an empty value' },
    ]);
  });

  it('parses none of too many values', async () => {
    const many = 'x,'.repeat(MAX_SIGNAL_VALUES);
    expect((await get(`?domain=${many}x`)).json['errors']).toEqual([
      { parameter: 'domain', code: 'too_many', detail: 'domain has 1001 values; at most 1000 are allowed' },
    ]);
  });

  it.each([
    ['?type=gossip', 'type', 'format'],
    ['?since=yesterday', 'since', 'date'],
    ['?until=2026-13-01', 'until', 'date'],
    ['?domain=x', 'domain', 'format'],
    ['?country=Germany', 'country', 'format'],
    ['?limit=0', 'limit', 'range'],
    ['?cursor=x', 'cursor', 'invalid_cursor'],
    ['?type=', 'type', 'empty'],
    ['?since=2026-01-01&since=2026-01-02', 'since', 'repeated'],
    ['?tpye=funding', 'tpye', 'unknown_parameter'],
    ['?since=2026-02-01&until=2026-01-31', 'until', 'range'],
  ])('refuses %s', async (query, parameter, code) => {
    for (const accept of ['application/json', 'application/x-ndjson', 'text/event-stream']) {
      const { status, json } = await get(query, { accept });
      expect(status).toBe(400);
      expect(json['errors']).toContainEqual(expect.objectContaining({ parameter, code }));
    }
  });

  it('sends lines in the order in which they became known', async () => {
    const reply = await get('?type=funding,hiring', { accept: 'application/x-ndjson' });
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    expect(
      reply.text
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: string }).id),
    ).toEqual(['sg_3', 'sg_1', 'sg_5', 'sg_4']);
    expect((await get('?limit=1', { accept: 'application/x-ndjson' })).text.trim().split('\n')).toHaveLength(1);
  });

  /** Reads a stream of events until `count` have come. */
  async function events(
    count: number,
    query = '',
    headers: Record<string, string> = {},
    meanwhile: () => void = () => undefined,
  ): Promise<{ id: string; event: string; signal: string }[]> {
    const stop = new AbortController();
    const response = await fetch(`${service.url}/v1/signals${query}`, {
      headers: { ...AUTH, accept: 'text/event-stream', ...headers },
      signal: stop.signal,
    });
    expect([response.status, response.headers.get('content-type'), response.headers.get('x-ratelimit-limit')]).toEqual([
      200,
      'text/event-stream',
      '0',
    ]);
    let text = '';
    meanwhile();
    const found: { id: string; event: string; signal: string }[] = [];
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString('utf8');
      found.splice(
        0,
        Infinity,
        ...[...text.matchAll(/^id: (\d+)\nevent: (\w+)\ndata: (.+)\n\n/gm)].map(([, id = '', event = '', data = '{}']) => ({
          id,
          event,
          signal: (JSON.parse(data) as { id: string }).id,
        })),
      );
      if (found.length >= count) break;
    }
    stop.abort();
    return found;
  }

  const tell = (...told: Record<string, unknown>[]): void => {
    const open = openStore(store);
    loadSignals(open, told, 'test');
    open.close();
  };

  it('streams new signals, and with `since` the known ones first', async () => {
    expect(await events(1, '', {}, () => tell(signal(8)))).toMatchObject([{ event: 'funding', signal: 'sg_8' }]);
    expect((await events(4, '?since=2026-01-04', {}, () => tell(signal(7)))).map((one) => one.signal)).toEqual([
      'sg_5',
      'sg_4',
      'sg_8',
      'sg_7',
    ]);
  });

  it('resumes after the last event that the client received', async () => {
    const [, second] = await events(5, '?since=2026-01-01');
    expect(second?.signal).toBe('sg_1');
    expect((await events(3, '', { 'last-event-id': second?.id ?? '' })).map((one) => one.signal)).toEqual(['sg_2', 'sg_5', 'sg_4']);
    expect((await get('', { accept: 'text/event-stream', 'last-event-id': 'x' })).json).toMatchObject({
      status: 400,
      errors: [{ parameter: 'Last-Event-ID' }],
    });
  });

  it('streams from now on after an event id that the store has not reached, such as one from before a restore', async () => {
    expect(await events(1, '', { 'last-event-id': '999999' }, () => tell(signal(8)))).toMatchObject([{ event: 'funding', signal: 'sg_8' }]);
  });

  it('ends its streams when the service closes, without a delay', async () => {
    const response = await fetch(`${service.url}/v1/signals`, { headers: { ...AUTH, accept: 'text/event-stream' } });
    const [text] = await Promise.all([response.text(), service.close()]);
    expect(text).toBe('retry: 3000\n\n');
  });

  it('limits the streams of a key', async () => {
    const key = await makeKey(store, 'growth');
    const stop = new AbortController();
    const open = (): Promise<Response> =>
      fetch(`${service.url}/v1/signals`, { headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' }, signal: stop.signal });
    const replies = await Promise.all(Array.from({ length: 51 }, open));
    expect(replies.filter(({ status }) => status === 503)).toHaveLength(1);
    expect(replies.find(({ status }) => status === 503)?.headers.get('retry-after')).toBe('30');
    stop.abort();
  });
});
