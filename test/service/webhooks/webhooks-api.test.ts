import { describe, expect, it } from 'vitest';
import { openStore } from '../../../src/service/store/open-store.ts';
import { makeKey, makeStore, type Reply } from '../harness.ts';
import { serveHooked } from './hooked.ts';

const WEBHOOK = { event: 'job.change', url: 'https://hooks.acme.example/a' };
const firstError = ({ json }: Reply): unknown => (json['errors'] as unknown[])[0];

describe('webhooks of a key', () => {
  it('webhooks of a key are created, shown without secrets, changed and deleted only by that key', async () => {
    const store = await makeStore();
    const [mine, other] = [await makeKey(store, 'growth'), await makeKey(store, 'growth')];
    const service = await serveHooked({ store });
    const filter = { domain: ['acme.example'], email: ['jane.doe@acme.example'] };
    const created = await service.call('POST', '/v1/webhooks', { ...WEBHOOK, filter }, mine);
    const { secret, ...record } = created.json;
    expect([created.status, created.headers.get('location')]).toEqual([201, `/v1/webhooks/${String(record['id'])}`]);
    expect(Buffer.from(String(secret).replace('whsec_', ''), 'base64')).toHaveLength(32);
    expect(record).toMatchObject({ url: WEBHOOK.url, events: ['job.change'], filter, enabled: true, disabled_reason: null, dropped: 0 });
    const path = created.headers.get('location') ?? '';
    const second = await service.call(
      'POST',
      '/v1/webhooks',
      { events: ['batch.failed', 'batch.failed', 'batch.completed'], url: 'https://hooks.acme.example' },
      mine,
    );
    expect(second.json).toMatchObject({ events: ['batch.failed', 'batch.completed'], filter: {}, url: 'https://hooks.acme.example/' });
    expect((await service.call('GET', path, undefined, mine)).json).toEqual(record);
    expect((await service.call('GET', '/v1/webhooks', undefined, mine)).json).toMatchObject({ data: [{ id: second.json['id'] }, record] });
    expect((await service.call('GET', '/v1/webhooks', undefined, other)).json).toEqual({ data: [] });
    for (const [method, end, body] of [
      ['GET', ''],
      ['PATCH', '', {}],
      ['DELETE', ''],
      ['POST', '/test'],
      ['POST', '/rotate-secret'],
      ['GET', '/deliveries'],
      ['POST', '/deliveries/msg_1/redeliver'],
    ] as const) {
      expect(await service.call(method, path + end, body, other)).toMatchObject({ status: 404, json: { code: 'not_found' } });
    }
    const changed = await service.call('PATCH', path, { url: 'https://other.acme.example', enabled: false }, mine);
    expect(changed.json).toEqual({
      ...record,
      url: 'https://other.acme.example/',
      enabled: false,
      disabled_reason: 'by_request',
      disabled_at: changed.json['updated_at'],
      updated_at: changed.json['updated_at'],
    });
    expect((await service.call('PATCH', path, { enabled: true }, mine)).json).toMatchObject({
      enabled: true,
      disabled_reason: null,
      disabled_at: null,
      filter,
    });
    expect((await service.call('DELETE', path, undefined, mine)).status).toBe(204);
    expect((await service.call('GET', path, undefined, mine)).status).toBe(404);
  });

  it('webhooks of a key are limited to twenty, also for concurrent requests', async () => {
    const service = await serveHooked();
    const replies = await Promise.all(Array.from({ length: 25 }, () => service.call('POST', '/v1/webhooks', WEBHOOK)));
    expect(
      Object.groupBy(
        replies.map(({ status }) => status),
        String,
      ),
    ).toEqual({ 201: Array.from({ length: 20 }, () => 201), 422: Array.from({ length: 5 }, () => 422) });
    expect(firstError(replies.find(({ status }) => status === 422) as Reply)).toMatchObject({ code: 'too_many' });
    expect((await service.call('GET', '/v1/webhooks')).json['data']).toHaveLength(20);
  });

  it.each([
    [{ url: WEBHOOK.url }, '', 'required'],
    [{ event: 'job.change' }, '', 'required'],
    [{ ...WEBHOOK, events: ['batch.failed'] }, '/events', 'ambiguous'],
    [{ ...WEBHOOK, filter: { industry: ['Retail'] } }, '/filter/industry', 'not_for_event'],
    [{ event: 'funding.round', url: WEBHOOK.url, filter: { email: ['jane.doe@acme.example'] } }, '/filter/email', 'not_for_event'],
    [
      { events: ['funding.round', 'enrichment.completed'], url: WEBHOOK.url, filter: { domain: ['acme.example'] } },
      '/filter/domain',
      'not_for_event',
    ],
    [{ ...WEBHOOK, filter: { domain: ['acme.example', 'no domain'] } }, '/filter/domain/1', 'format'],
    [{ ...WEBHOOK, filter: { country: ['Spain'] } }, '/filter/country/0', 'format'],
    [{ ...WEBHOOK, filter: { id: ['x'.repeat(128 * 1024)] } }, '/filter', 'too_long'],
    [{ ...WEBHOOK, filter: { domian: ['acme.example'] } }, '/filter/domian', 'unknown_field'],
    [{ ...WEBHOOK, filter: { domain: 'acme.example' } }, '/filter/domain', 'type'],
    [{ ...WEBHOOK, filter: { domain: [] } }, '/filter/domain', 'too_few'],
    [{ ...WEBHOOK, url: 'ftp://hooks.acme.example' }, '/url', 'format'],
    [{ ...WEBHOOK, url: 'https://user:pass@hooks.acme.example' }, '/url', 'credentials'],
  ])('webhooks of a key are refused for %j with an error at %j (%s)', async (body, pointer, code) => {
    const service = await serveHooked();
    const reply = await service.call('POST', '/v1/webhooks', body);
    expect([reply.status, firstError(reply)]).toEqual([422, expect.objectContaining({ pointer, code })]);
    expect((await service.call('GET', '/v1/webhooks')).json).toEqual({ data: [] });
  });

  it.each([
    ['lists', '['.repeat(200_000), ']'.repeat(200_000)],
    ['objects', '{"domain":'.repeat(50_000), '}'.repeat(50_000)],
  ])('webhooks of a key are refused with a filter of deeply nested %s', async (_name, open, close) => {
    const service = await serveHooked();
    for (const filter of [`{"domain":${open}1${close}}`, `{"domain":[${open}1${close}]}`]) {
      const reply = await service.post('/v1/webhooks', `{"event":"job.change","url":"${WEBHOOK.url}","filter":${filter}}`);
      expect([reply.status, firstError(reply)]).toEqual([422, expect.objectContaining({ code: 'type' })]);
    }
  });

  it('cannot be changed to an event that does not support their filter', async () => {
    const service = await serveHooked();
    const { id } = await service.subscribe({ event: 'funding.round', url: WEBHOOK.url, filter: { industry: ['Retail'] } });
    expect(firstError(await service.call('PATCH', `/v1/webhooks/${id}`, { events: ['funding.round', 'job.change'] }))).toMatchObject({
      pointer: '/events',
      code: 'not_for_event',
    });
    expect((await service.call('PATCH', `/v1/webhooks/${id}`, { events: ['funding.round', 'job.change'], filter: {} })).status).toBe(200);
  });
});

describe('a change of a webhook', () => {
  it('does not undo another change that was written meanwhile', async () => {
    const service = await serveHooked();
    const { id } = await service.subscribe({ event: 'job.change', url: WEBHOOK.url, filter: { email: ['jane.doe@acme.example'] } });
    const store = openStore(service.store);
    store.books.exec('BEGIN IMMEDIATE');
    const changed = service.call('PATCH', `/v1/webhooks/${id}`, { url: 'https://other.acme.example' });
    // After these requests the change waits for the store.
    for (let n = 0; n < 5; n++) await service.call('GET', `/v1/webhooks/${id}`);
    store.books.prepare('UPDATE webhooks SET filter = ?').run('{"email":[]}');
    store.books.exec('COMMIT');
    store.close();
    expect((await changed).json).toMatchObject({ url: 'https://other.acme.example/', filter: { email: [] } });
    expect((await service.call('GET', `/v1/webhooks/${id}`)).json).toEqual((await changed).json);
  });
});
