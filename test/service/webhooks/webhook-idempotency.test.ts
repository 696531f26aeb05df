import { describe, expect, it } from 'vitest';
import { textsOf } from '../../../src/service/calls/answer-rows.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { makeKey, makeStore } from '../harness.ts';
import { serveHooked, type Hooked } from './hooked.ts';

const WEBHOOK = { event: 'job.change', url: 'https://hooks.acme.example/a' };

describe('an Idempotency-Key of a webhook request', () => {
  it('creates one webhook, and a replay shows the first secret, which the store does not copy in plain form', async () => {
    const service = await serveHooked();
    const copiesOf = async (secret: unknown): Promise<number> => {
      const text = String(secret).replace('whsec_', '');
      const store = openStore(service.store);
      const rows = store.books
        .prepare('SELECT texts FROM answer_blocks')
        .all()
        .map((row) => Buffer.from(textsOf(row)));
      const keys = store.books
        .prepare('SELECT secret, former_secret FROM webhooks')
        .all()
        .flatMap((row) => [row['secret'], row['former_secret']] as (Uint8Array | null)[]);
      store.close();
      expect(rows.length).toBeGreaterThan(0);
      return (
        rows.filter((one) => one.includes(text) || one.includes(Buffer.from(text, 'base64'))).length +
        keys.filter((one) => one !== null && Buffer.from(text, 'base64').equals(one)).length
      );
    };
    const send: Hooked['once'] = (...args) => service.once(...args);
    const wanted = { ...WEBHOOK, filter: { domain: ['acme.example'] } };
    const [first, again] = [await send('created', '/v1/webhooks', wanted), await send('created', '/v1/webhooks', wanted)];
    expect([first.status, again.status, again.headers.get('idempotency-replayed'), again.text, again.headers.get('location')]).toEqual([
      201,
      201,
      'true',
      first.text,
      `/v1/webhooks/${String(first.json['id'])}`,
    ]);
    expect((await service.call('GET', '/v1/webhooks')).json['data']).toHaveLength(1);
    expect(await copiesOf(first.json['secret'])).toBe(1);
    const rotate = `/v1/webhooks/${String(first.json['id'])}/rotate-secret`;
    const rotated = await send('rotated', rotate);
    expect([await copiesOf(first.json['secret']), await copiesOf(rotated.json['secret'])]).toEqual([1, 1]);
    expect([(await send('rotated', rotate)).text, (await send('created', '/v1/webhooks', wanted)).text]).toEqual([
      rotated.text,
      first.text,
    ]);
    await send('once more', rotate);
    expect([await copiesOf(first.json['secret']), (await send('created', '/v1/webhooks', wanted)).text]).toEqual([0, first.text]);
    await service.call('DELETE', `/v1/webhooks/${String(first.json['id'])}`);
    expect((await send('rotated', rotate)).text).toBe(rotated.text);
    expect(await copiesOf(rotated.json['secret'])).toBe(0);
  });

  it('an Idempotency-Key is stored in the transaction of the change, so that a retry after a crash repeats nothing', async () => {
    const service = await serveHooked();
    const { id } = await service.subscribe(WEBHOOK);
    const send: Hooked['once'] = (...args) => service.once(...args);
    const store = openStore(service.store);
    const secrets = (): unknown => store.books.prepare('SELECT id, secret FROM webhooks').all();
    const before = secrets();
    store.books.exec("CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT raise(ABORT, 'full'); END");
    const refused = await Promise.all([send('make', '/v1/webhooks', WEBHOOK), send('rotate', `/v1/webhooks/${id}/rotate-secret`)]);
    expect([...refused.map(({ status }) => status), secrets()]).toEqual([503, 503, before]);
    store.books.exec('DROP TRIGGER full');
    store.close();
    expect([
      (await send('make', '/v1/webhooks', WEBHOOK)).status,
      (await send('rotate', `/v1/webhooks/${id}/rotate-secret`)).status,
    ]).toEqual([201, 200]);
  });

  it('creates one webhook for concurrent requests, and for a repeat to the next service', async () => {
    const store = await makeStore();
    const mine = await makeKey(store, 'enterprise');
    const one = await serveHooked({ store });
    const keys = Array.from({ length: 10 }, (_, n) => `created ${n}`);
    const send = (service: Hooked, key: string) => service.once(key, '/v1/webhooks', WEBHOOK, mine);
    const replies = await Promise.all(keys.flatMap((key) => [send(one, key), send(one, key)]));
    for (const { status, json } of replies) expect([201, 'idempotency_in_flight']).toContain(status === 201 ? status : json['code']);
    expect((await one.call('GET', '/v1/webhooks', undefined, mine)).json['data']).toHaveLength(keys.length);
    const first = await Promise.all(keys.map((key) => send(one, key)));
    await one.close();
    const next = await serveHooked({ store });
    const again = await Promise.all(keys.map((key) => send(next, key)));
    expect(again.map(({ text }) => text)).toEqual(first.map(({ text }) => text));
  });
});
