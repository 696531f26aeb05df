import { describe, expect, it } from 'vitest';
import { createKey, revokeKey, rotateKey } from '../../../src/service/keys.ts';
import { loadSignals } from '../../../src/service/store/load.ts';
import { textsOf } from '../../../src/service/store/answer-rows.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { checkEvent } from '../answers.ts';
import { makeKey, makeStore, type Reply } from '../harness.ts';
import { serveHooked, type Hooked } from './hooked.ts';
import { Receiver, signedBy } from './receiver.ts';

const JANE = { email: 'jane.doe@acme.example' };
const HOOK = { event: 'job.change', url: 'https://hooks.acme.example/a' };
const firstError = ({ json }: Reply): unknown => (json['errors'] as unknown[])[0];

describe('webhooks of a key', () => {
  it('are made, shown without their secrets, changed and deleted, by that key alone', async () => {
    const store = await makeStore();
    const [mine, other] = [await makeKey(store, 'growth'), await makeKey(store, 'growth')];
    const service = await serveHooked({ store });
    const filter = { domain: ['acme.example'], email: ['jane.doe@acme.example'] };
    const made = await service.call('POST', '/v1/webhooks', { ...HOOK, filter }, mine);
    const { secret, ...shown } = made.json;
    expect([made.status, made.headers.get('location')]).toEqual([201, `/v1/webhooks/${String(shown['id'])}`]);
    expect(Buffer.from(String(secret).replace('whsec_', ''), 'base64')).toHaveLength(32);
    expect(shown).toMatchObject({ url: HOOK.url, events: ['job.change'], filter, enabled: true, disabled_reason: null, dropped: 0 });
    const path = made.headers.get('location') ?? '';
    const second = await service.call('POST', '/v1/webhooks', { events: ['batch.failed', 'batch.failed', 'batch.completed'], url: 'https://hooks.acme.example' }, mine);
    expect(second.json).toMatchObject({ events: ['batch.failed', 'batch.completed'], filter: {}, url: 'https://hooks.acme.example/' });
    expect((await service.call('GET', path, undefined, mine)).json).toEqual(shown);
    expect((await service.call('GET', '/v1/webhooks', undefined, mine)).json).toMatchObject({ data: [{ id: second.json['id'] }, shown] });
    expect((await service.call('GET', '/v1/webhooks', undefined, other)).json).toEqual({ data: [] });
    for (const [method, end, body] of [['GET', ''], ['PATCH', '', {}], ['DELETE', ''], ['POST', '/test'], ['POST', '/rotate-secret'], ['GET', '/deliveries'], ['POST', '/deliveries/msg_1/redeliver']] as const) {
      expect(await service.call(method, path + end, body, other)).toMatchObject({ status: 404, json: { code: 'not_found' } });
    }
    const changed = await service.call('PATCH', path, { url: 'https://other.acme.example', enabled: false }, mine);
    expect(changed.json).toEqual({ ...shown, url: 'https://other.acme.example/', enabled: false, disabled_reason: 'by_request', disabled_at: changed.json['updated_at'], updated_at: changed.json['updated_at'] });
    expect((await service.call('PATCH', path, { enabled: true }, mine)).json).toMatchObject({ enabled: true, disabled_reason: null, disabled_at: null, filter });
    expect((await service.call('DELETE', path, undefined, mine)).status).toBe(204);
    expect((await service.call('GET', path, undefined, mine)).status).toBe(404);
  });

  it('are twenty at the most, whoever asks at once', async () => {
    const service = await serveHooked();
    const replies = await Promise.all(Array.from({ length: 25 }, () => service.call('POST', '/v1/webhooks', HOOK)));
    expect(Object.groupBy(replies.map(({ status }) => status), String)).toEqual({ 201: Array.from({ length: 20 }, () => 201), 422: Array.from({ length: 5 }, () => 422) });
    expect(firstError(replies.find(({ status }) => status === 422) as Reply)).toMatchObject({ code: 'too_many' });
    expect((await service.call('GET', '/v1/webhooks')).json['data']).toHaveLength(20);
  });

  it('are made once for one Idempotency-Key, and a replay shows the first secret, of which the store has no copy in plain', async () => {
    const service = await serveHooked();
    const inStore = async (secret: unknown): Promise<number> => {
      const text = String(secret).replace('whsec_', '');
      const store = openStore(service.store);
      const rows = store.prepare('SELECT texts FROM answer_blocks').all().map((row) => Buffer.from(textsOf(row)));
      const keys = store.prepare('SELECT secret, former_secret FROM webhooks').all().flatMap((row) => [row['secret'], row['former_secret']] as (Uint8Array | null)[]);
      store.close();
      expect(rows.length).toBeGreaterThan(0);
      return rows.filter((one) => one.includes(text) || one.includes(Buffer.from(text, 'base64'))).length + keys.filter((one) => one !== null && Buffer.from(text, 'base64').equals(one)).length;
    };
    const send: Hooked['once'] = (...args) => service.once(...args);
    const wanted = { ...HOOK, filter: { domain: ['acme.example'] } };
    const [first, again] = [await send('made', '/v1/webhooks', wanted), await send('made', '/v1/webhooks', wanted)];
    expect([first.status, again.status, again.headers.get('idempotency-replayed'), again.text, again.headers.get('location')]).toEqual([201, 201, 'true', first.text, `/v1/webhooks/${String(first.json['id'])}`]);
    expect((await service.call('GET', '/v1/webhooks')).json['data']).toHaveLength(1);
    expect(await inStore(first.json['secret'])).toBe(1);
    const rotate = `/v1/webhooks/${String(first.json['id'])}/rotate-secret`;
    const rotated = await send('rotated', rotate);
    expect([await inStore(first.json['secret']), await inStore(rotated.json['secret'])]).toEqual([1, 1]);
    expect([(await send('rotated', rotate)).text, (await send('made', '/v1/webhooks', wanted)).text]).toEqual([rotated.text, first.text]);
    await send('once more', rotate);
    expect([await inStore(first.json['secret']), (await send('made', '/v1/webhooks', wanted)).text]).toEqual([0, first.text]);
    await service.call('DELETE', `/v1/webhooks/${String(first.json['id'])}`);
    expect((await send('rotated', rotate)).text).toBe(rotated.text);
    expect(await inStore(rotated.json['secret'])).toBe(0);
  });

  it('are made and given secrets together with what is kept for the Idempotency-Key, or not at all, so that a retry after a crash neither makes a second one nor takes a secret that is in use', async () => {
    const service = await serveHooked();
    const { id } = await service.subscribe(HOOK);
    const send: Hooked['once'] = (...args) => service.once(...args);
    const store = openStore(service.store);
    const secrets = (): unknown => store.prepare('SELECT id, secret FROM webhooks').all();
    const before = secrets();
    store.exec("CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT raise(ABORT, 'full'); END");
    const refused = await Promise.all([send('make', '/v1/webhooks', HOOK), send('rotate', `/v1/webhooks/${id}/rotate-secret`)]);
    expect([...refused.map(({ status }) => status), secrets()]).toEqual([503, 503, before]);
    store.exec('DROP TRIGGER full');
    store.close();
    expect([(await send('make', '/v1/webhooks', HOOK)).status, (await send('rotate', `/v1/webhooks/${id}/rotate-secret`)).status]).toEqual([201, 200]);
  });

  it('are made once for one Idempotency-Key, though it is sent twice at once, and once more to the next service', async () => {
    const store = await makeStore();
    const mine = await makeKey(store, 'enterprise');
    const one = await serveHooked({ store });
    const keys = Array.from({ length: 10 }, (_, n) => `made ${n}`);
    const send = (service: Hooked, key: string) => service.once(key, '/v1/webhooks', HOOK, mine);
    const replies = await Promise.all(keys.flatMap((key) => [send(one, key), send(one, key)]));
    for (const { status, json } of replies) expect([201, 'idempotency_in_flight']).toContain(status === 201 ? status : json['code']);
    expect((await one.call('GET', '/v1/webhooks', undefined, mine)).json['data']).toHaveLength(keys.length);
    const first = await Promise.all(keys.map((key) => send(one, key)));
    await one.close();
    const next = await serveHooked({ store });
    const again = await Promise.all(keys.map((key) => send(next, key)));
    expect(again.map(({ text }) => text)).toEqual(first.map(({ text }) => text));
  });

  it.each([
    [{ url: HOOK.url }, '', 'required'],
    [{ event: 'job.change' }, '', 'required'],
    [{ ...HOOK, events: ['batch.failed'] }, '/events', 'ambiguous'],
    [{ ...HOOK, filter: { industry: ['Retail'] } }, '/filter/industry', 'not_for_event'],
    [{ event: 'funding.round', url: HOOK.url, filter: { email: ['jane.doe@acme.example'] } }, '/filter/email', 'not_for_event'],
    [{ events: ['funding.round', 'enrichment.completed'], url: HOOK.url, filter: { domain: ['acme.example'] } }, '/filter/domain', 'not_for_event'],
    [{ ...HOOK, filter: { domain: ['acme.example', 'no domain'] } }, '/filter/domain/1', 'format'],
    [{ ...HOOK, filter: { country: ['Spain'] } }, '/filter/country/0', 'format'],
    [{ ...HOOK, filter: { id: ['x'.repeat(128 * 1024)] } }, '/filter', 'too_long'],
    [{ ...HOOK, filter: { domian: ['acme.example'] } }, '/filter/domian', 'unknown_field'],
    [{ ...HOOK, filter: { domain: 'acme.example' } }, '/filter/domain', 'type'],
    [{ ...HOOK, filter: { domain: [] } }, '/filter/domain', 'too_few'],
    [{ ...HOOK, url: 'ftp://hooks.acme.example' }, '/url', 'format'],
    [{ ...HOOK, url: 'https://user:pass@hooks.acme.example' }, '/url', 'credentials'],
  ])('are refused: %j at %j (%s)', async (body, pointer, code) => {
    const service = await serveHooked();
    const reply = await service.call('POST', '/v1/webhooks', body);
    expect([reply.status, firstError(reply)]).toEqual([422, expect.objectContaining({ pointer, code })]);
    expect((await service.call('GET', '/v1/webhooks')).json).toEqual({ data: [] });
  });

  it.each([['lists', '['.repeat(200_000), ']'.repeat(200_000)], ['objects', '{"domain":'.repeat(50_000), '}'.repeat(50_000)]])('are refused with a filter of %s within each other as deep as a body can be', async (_what, open, close) => {
    const service = await serveHooked();
    for (const filter of [`{"domain":${open}1${close}}`, `{"domain":[${open}1${close}]}`]) {
      const reply = await service.post('/v1/webhooks', `{"event":"job.change","url":"${HOOK.url}","filter":${filter}}`);
      expect([reply.status, firstError(reply)]).toEqual([422, expect.objectContaining({ code: 'type' })]);
    }
  });

  it('may not be told of what their filter says nothing about, by a change neither', async () => {
    const service = await serveHooked();
    const { id } = await service.subscribe({ event: 'funding.round', url: HOOK.url, filter: { industry: ['Retail'] } });
    expect(firstError(await service.call('PATCH', `/v1/webhooks/${id}`, { events: ['funding.round', 'job.change'] }))).toMatchObject({ pointer: '/events', code: 'not_for_event' });
    expect((await service.call('PATCH', `/v1/webhooks/${id}`, { events: ['funding.round', 'job.change'], filter: {} })).status).toBe(200);
  });
});

describe('a change', () => {
  it('undoes none that was made meanwhile', async () => {
    const service = await serveHooked();
    const { id } = await service.subscribe({ event: 'job.change', url: HOOK.url, filter: { email: ['jane.doe@acme.example'] } });
    const store = openStore(service.store);
    store.exec('BEGIN IMMEDIATE');
    const changed = service.call('PATCH', `/v1/webhooks/${id}`, { url: 'https://other.acme.example' });
    // By now the change waits for the store.
    for (let n = 0; n < 5; n++) await service.call('GET', `/v1/webhooks/${id}`);
    store.prepare('UPDATE webhooks SET filter = ?').run('{"email":[]}');
    store.exec('COMMIT');
    store.close();
    expect((await changed).json).toMatchObject({ url: 'https://other.acme.example/', filter: { email: [] } });
    expect((await service.call('GET', `/v1/webhooks/${id}`)).json).toEqual((await changed).json);
  });
});

describe('secrets', () => {
  it('sign both for a day once one is replaced', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    const { id, secret } = await service.subscribe({ event: 'enrichment.completed', url: receiver.url() });
    const { json } = await service.call('POST', `/v1/webhooks/${id}/rotate-secret`);
    const secrets = [secret, String(json['secret'])];
    await service.post('/v1/enrich', JANE);
    const [both] = await receiver.count(1);
    expect(both === undefined ? null : signedBy(both, secrets)).toEqual(secrets);
    const store = openStore(service.store);
    store.prepare('UPDATE webhooks SET former_until = ?').run(Date.now() - 1);
    store.close();
    await service.post('/v1/enrich', JANE);
    const [, one] = await receiver.count(2);
    expect(one === undefined ? null : signedBy(one, secrets)).toEqual(secrets.slice(1));
  });

  it('of keys that are revoked sign no more, and what waits for them is given up; those of replaced keys do', async () => {
    const receiver = await Receiver.start(checkEvent);
    const path = await makeStore();
    const open = openStore(path);
    const [kept, lost] = [createKey(open, { plan: 'growth' }), createKey(open, { plan: 'growth' })];
    const service = await serveHooked({ store: path });
    for (const { key } of [lost, kept]) await service.subscribe({ event: 'funding.round', url: receiver.url('/round') }, key);
    receiver.usual = 500;
    for (const [name, { key }] of Object.entries({ kept, lost })) await service.post('/v1/enrich', { ...JANE, webhook_url: receiver.url(`/${name}`) }, { key });
    await receiver.count(2);
    await service.close();
    rotateKey(open, kept.id);
    revokeKey(open, lost.id);
    open.exec('UPDATE webhook_deliveries SET next_at = 0');
    receiver.usual = 200;
    loadSignals(open, [{ id: 's1', type: 'funding', domain: 'acme.example', occurred_at: '2026-01-01' }], 'crm');
    const next = await serveHooked({ store: path });
    await receiver.count(4);
    await next.close();
    expect(receiver.received.map(({ path: at }) => at).toSorted()).toEqual(['/kept', '/kept', '/lost', '/round']);
    expect(open.prepare('SELECT channel, state, last_error FROM webhook_deliveries WHERE url IS NOT NULL ORDER BY seq').all()).toEqual([{ channel: kept.id, state: 'delivered', last_error: null }, { channel: lost.id, state: 'failed', last_error: 'key_revoked' }]);
    expect(open.prepare('SELECT count(*) AS n FROM webhook_deliveries').get()).toEqual({ n: 3 });
    open.close();
  });
});

describe('a test event', () => {
  it('is sent at once, and what came of it is answered', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    const { id, secret } = await service.subscribe({ event: 'hiring.change', url: receiver.url() });
    const test = async (): Promise<unknown> => (await service.call('POST', `/v1/webhooks/${id}/test`)).json;
    receiver.reactions = [204, 302];
    expect([await test(), await test()]).toEqual([{ delivered: true, type: 'hiring.change', status: 204, error: null }, { delivered: false, type: 'hiring.change', status: 302, error: null }]);
    await receiver.close();
    expect(await test()).toEqual({ delivered: false, type: 'hiring.change', status: null, error: 'connection_failed' });
    for (const one of receiver.received) expect([signedBy(one, [secret]), one.body]).toEqual([[secret], { type: 'hiring.change', timestamp: expect.any(String) as string, data: { test: true, webhook: id } }]);
    expect((await service.call('GET', `/v1/webhooks/${id}/deliveries`)).json['data']).toEqual([]);
  });
});

describe('tests of receivers that do not answer', () => {
  it('are bounded for each key, and hold up nobody else\'s', async () => {
    const [dead, receiver] = [await Receiver.start(checkEvent), await Receiver.start(checkEvent)];
    const store = await makeStore();
    const [slow, other] = [await makeKey(store, 'growth'), await makeKey(store, 'growth')];
    const service = await serveHooked({ store });
    const began = Promise.withResolvers<void>();
    dead.usual = () => void (dead.received.length === 2 && began.resolve());
    const { id } = await service.subscribe({ event: 'job.change', url: dead.url() }, slow);
    const { id: good } = await service.subscribe({ event: 'job.change', url: receiver.url() }, other);
    const refused = Promise.withResolvers<void>();
    let left = 28;
    const tests = Array.from({ length: 30 }, async () => {
      const { status, json, headers } = await service.call('POST', `/v1/webhooks/${id}/test`, undefined, slow);
      if (status === 503 && --left === 0) refused.resolve();
      return [status, json['code'] ?? json['error'], headers.get('retry-after')].join(' ');
    });
    await Promise.all([began.promise, refused.promise]);
    expect((await service.call('POST', `/v1/webhooks/${good}/test`, undefined, other)).json).toMatchObject({ delivered: true });
    dead.server.closeAllConnections();
    expect((await Promise.all(tests)).toSorted()).toEqual([...Array.from({ length: 2 }, () => '200 connection_failed '), ...Array.from({ length: 28 }, () => '503 overloaded 5')]);
  });
});

describe('deliveries', () => {
  it('are listed, newest first and page by page, and sent again with the same id', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    receiver.reactions = [500, 200, 200];
    const { id } = await service.subscribe({ event: 'enrichment.completed', url: receiver.url() });
    for (let n = 1; n <= 3; n++) {
      await service.post('/v1/enrich', JANE);
      await receiver.count(n);
    }
    const list = `/v1/webhooks/${id}/deliveries`;
    const first = await service.call('GET', `${list}?limit=2`);
    const next = /<(.*)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    const second = await service.call('GET', next);
    const ids = [first, second].flatMap(({ json }) => (json['data'] as { readonly id: string }[]).map((delivery) => delivery.id));
    // The first may have come again by now.
    expect(ids).toEqual([...new Set(receiver.received.map(({ headers }) => headers['webhook-id']))].toReversed());
    expect([second.json['meta'], second.headers.get('link')]).toEqual([{ limit: 2, next_cursor: null }, null]);
    expect(await service.call('GET', `${list}?cursor=nonsense`)).toMatchObject({ status: 400, json: { errors: [{ parameter: 'cursor', code: 'invalid_cursor' }] } });
    const [, , failed = ''] = ids;
    receiver.reactions = [200];
    expect(await service.call('POST', `${list}/${failed}/redeliver`)).toMatchObject({ status: 202, json: { id: failed, state: 'pending', attempts: 0 } });
    const all = await receiver.count(4);
    expect([all[3]?.headers['webhook-id'], all[3]?.text]).toEqual([failed, all[0]?.text]);
    await service.close();
    const again = await serveHooked({ store: service.store });
    const settled = await again.call('GET', list);
    // The key of the first process is no more, and neither are its webhooks to anybody.
    expect(settled.status).toBe(404);
  });

  it('go to the webhook where it is now', async () => {
    const [former, receiver] = [await Receiver.start(checkEvent), await Receiver.start(checkEvent)];
    former.usual = 500;
    const service = await serveHooked();
    const { id } = await service.subscribe({ event: 'enrichment.completed', url: former.url() });
    await service.post('/v1/enrich', JANE);
    await former.count(1);
    await service.call('PATCH', `/v1/webhooks/${id}`, { url: receiver.url() });
    const { json } = await service.call('GET', `/v1/webhooks/${id}/deliveries`);
    const [{ id: delivery } = { id: '' }] = json['data'] as { readonly id: string }[];
    await service.call('POST', `/v1/webhooks/${id}/deliveries/${delivery}/redeliver`);
    const [moved] = await receiver.count(1);
    expect(moved?.headers['webhook-id']).toBe(delivery);
  });
});
