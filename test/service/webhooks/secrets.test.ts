import { describe, expect, it } from 'vitest';
import { createKey, revokeKey, rotateKey } from '../../../src/service/accounts/keys.ts';
import { loadSignals } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { checkEvent } from '../answers.ts';
import { makeStore } from '../harness.ts';
import { serveHooked } from './hooked.ts';
import { Receiver, signedBy } from './receiver.ts';

const JANE = { email: 'jane.doe@acme.example' };

describe('secrets', () => {
  it('both sign for a day after a rotation', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    const { id, secret } = await service.subscribe({ event: 'enrichment.completed', url: receiver.url() });
    const { json } = await service.call('POST', `/v1/webhooks/${id}/rotate-secret`);
    const secrets = [secret, String(json['secret'])];
    await service.post('/v1/enrich', JANE);
    const [both] = await receiver.count(1);
    expect(both === undefined ? null : signedBy(both, secrets)).toEqual(secrets);
    const store = openStore(service.store);
    store.books.prepare('UPDATE webhooks SET former_until = ?').run(Date.now() - 1);
    store.close();
    await service.post('/v1/enrich', JANE);
    const [, one] = await receiver.count(2);
    expect(one === undefined ? null : signedBy(one, secrets)).toEqual(secrets.slice(1));
  });

  it('secrets of rotated keys still sign; pending deliveries of revoked keys are given up', async () => {
    const receiver = await Receiver.start(checkEvent);
    const path = await makeStore();
    const open = openStore(path);
    const [rotated, revoked] = [createKey(open, { plan: 'growth' }), createKey(open, { plan: 'growth' })];
    const service = await serveHooked({ store: path });
    for (const { key } of [revoked, rotated]) await service.subscribe({ event: 'funding.round', url: receiver.url('/round') }, key);
    receiver.usual = 500;
    for (const [name, { key }] of Object.entries({ rotated, revoked }))
      await service.post('/v1/enrich', { ...JANE, webhook_url: receiver.url(`/${name}`) }, { key });
    await receiver.count(2);
    await service.close();
    rotateKey(open, rotated.id);
    revokeKey(open, revoked.id);
    open.books.exec('UPDATE webhook_deliveries SET next_at = 0');
    receiver.usual = 200;
    loadSignals(open, [{ id: 's1', type: 'funding', domain: 'acme.example', occurred_at: '2026-01-01' }], 'crm');
    const next = await serveHooked({ store: path });
    await receiver.count(4);
    await next.close();
    expect(receiver.received.map(({ path: at }) => at).toSorted()).toEqual(['/revoked', '/rotated', '/rotated', '/round']);
    expect(
      open.books.prepare('SELECT channel, state, last_error FROM webhook_deliveries WHERE url IS NOT NULL ORDER BY seq').all(),
    ).toEqual([
      { channel: rotated.id, state: 'delivered', last_error: null },
      { channel: revoked.id, state: 'failed', last_error: 'key_revoked' },
    ]);
    expect(open.books.prepare('SELECT count(*) AS n FROM webhook_deliveries').get()).toEqual({ n: 3 });
    open.close();
  });
});
