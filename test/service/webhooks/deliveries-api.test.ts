import { describe, expect, it } from 'vitest';
import { checkEvent } from '../answers.ts';
import { makeKey, makeStore } from '../harness.ts';
import { serveHooked } from './hooked.ts';
import { Receiver, signedBy } from './receiver.ts';

const JANE = { email: 'jane.doe@acme.example' };

describe('a test event', () => {
  it('a test event is sent at once, and the answer has its outcome', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    const { id, secret } = await service.subscribe({ event: 'hiring.change', url: receiver.url() });
    const test = async (): Promise<unknown> => (await service.call('POST', `/v1/webhooks/${id}/test`)).json;
    receiver.reactions = [204, 302];
    expect([await test(), await test()]).toEqual([
      { delivered: true, type: 'hiring.change', status: 204, error: null },
      { delivered: false, type: 'hiring.change', status: 302, error: null },
    ]);
    await receiver.close();
    expect(await test()).toEqual({ delivered: false, type: 'hiring.change', status: null, error: 'connection_failed' });
    for (const one of receiver.received)
      expect([signedBy(one, [secret]), one.body]).toEqual([
        [secret],
        { type: 'hiring.change', timestamp: expect.any(String) as string, data: { test: true, webhook: id } },
      ]);
    expect((await service.call('GET', `/v1/webhooks/${id}/deliveries`)).json['data']).toEqual([]);
  });
});

describe('tests of receivers that do not answer', () => {
  it('tests of receivers that do not answer are limited for each key, and do not delay tests of other keys', async () => {
    const [dead, receiver] = [await Receiver.start(checkEvent), await Receiver.start(checkEvent)];
    const store = await makeStore();
    const [slow, other] = [await makeKey(store, 'growth'), await makeKey(store, 'growth')];
    const service = await serveHooked({ store });
    const full = Promise.withResolvers<void>();
    dead.usual = () => void (dead.received.length === 2 && full.resolve());
    const { id } = await service.subscribe({ event: 'job.change', url: dead.url() }, slow);
    const { id: good } = await service.subscribe({ event: 'job.change', url: receiver.url() }, other);
    const refused = Promise.withResolvers<void>();
    let left = 28;
    const tests = Array.from({ length: 30 }, async () => {
      const { status, json, headers } = await service.call('POST', `/v1/webhooks/${id}/test`, undefined, slow);
      if (status === 503 && --left === 0) refused.resolve();
      return [status, json['code'] ?? json['error'], headers.get('retry-after')].join(' ');
    });
    await Promise.all([full.promise, refused.promise]);
    expect((await service.call('POST', `/v1/webhooks/${good}/test`, undefined, other)).json).toMatchObject({ delivered: true });
    dead.server.closeAllConnections();
    expect((await Promise.all(tests)).toSorted()).toEqual([
      ...Array.from({ length: 2 }, () => '200 connection_failed '),
      ...Array.from({ length: 28 }, () => '503 overloaded 5'),
    ]);
  });
});

describe('deliveries', () => {
  it('deliveries are listed newest first, page by page, and can be sent again with the same id', async () => {
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
    // A repeat of the first delivery may have arrived already.
    expect(ids).toEqual([...new Set(receiver.received.map(({ headers }) => headers['webhook-id']))].toReversed());
    expect([second.json['meta'], second.headers.get('link')]).toEqual([{ limit: 2, next_cursor: null }, null]);
    expect(await service.call('GET', `${list}?cursor=nonsense`)).toMatchObject({
      status: 400,
      json: { errors: [{ parameter: 'cursor', code: 'invalid_cursor' }] },
    });
    const [, , failed = ''] = ids;
    receiver.reactions = [200];
    expect(await service.call('POST', `${list}/${failed}/redeliver`)).toMatchObject({
      status: 202,
      json: { id: failed, state: 'pending', attempts: 0 },
    });
    const all = await receiver.count(4);
    expect([all[3]?.headers['webhook-id'], all[3]?.text]).toEqual([failed, all[0]?.text]);
    await service.close();
    const again = await serveHooked({ store: service.store });
    const settled = await again.call('GET', list);
    // The second service does not have the key of the first one, so nobody can see the webhook.
    expect(settled.status).toBe(404);
  });

  it('go to the current URL of the webhook', async () => {
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
