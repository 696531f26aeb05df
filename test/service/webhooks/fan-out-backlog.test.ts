import { describe, expect, it } from 'vitest';
import { loadSignals } from '../../../src/service/store/rows/load.ts';
import { JobChangeRows } from '../../../src/service/store/rows/job-change-rows.ts';
import { newSecret } from '../../../src/service/webhooks/secrets.ts';
import { checkEvent } from '../answers.ts';
import { serveHooked, signalOf, writeElsewhere } from './hooked.ts';
import { World } from './processes.ts';
import { Receiver } from './receiver.ts';

describe('new signals', () => {
  it('new signals of a long backlog are fanned out in part within the time limit of a change, and later from there on', async () => {
    const process = (await World.make()).start();
    const { fanOut, rows, deliveries } = process.hooks;
    loadSignals(process.store, [signalOf('old', 'funding', 'acme.example')], 'crm');
    // No poll loop runs.
    const webhook = rows.add(
      'k',
      { url: 'http://127.0.0.1:9', events: ['funding.round'], filter: {}, disabled: null },
      newSecret(),
      fanOut.streamEnds(),
      0,
    );
    loadSignals(
      process.store,
      Array.from({ length: 200 }, (_, n) => signalOf(`s${n}`, 'funding', 'acme.example')),
      'crm',
    );
    const ends = fanOut.streamEnds();
    const fanOutWithin = async (withinMs: number): Promise<unknown> => [
      await fanOut.fanOutAll(webhook, ends, withinMs),
      deliveries.pending(),
    ];
    // The webhook does not subscribe to job changes, so their position moves to the end.
    expect(await fanOutWithin(0)).toEqual([{ ...ends, signals: 0 }, 50]);
    expect(await fanOutWithin(0)).toEqual([{ ...ends, signals: 0 }, 100]);
    expect(await fanOutWithin(Infinity)).toEqual([ends, 200]);
  });

  it('in thousands all arrive, each once', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await service.subscribe({ event: 'funding.round', url: receiver.url(), filter: { domain: ['acme.example'] } });
    await writeElsewhere(service, (store) =>
      loadSignals(
        store,
        Array.from({ length: 7_000 }, (_, n) => signalOf(`s${n}`, 'funding', n % 20 === 0 ? 'acme.example' : 'globex.example')),
        'crm',
      ),
    );
    const all = await receiver.count(350);
    await service.close();
    expect(new Set(all.map(({ body }) => body.data['id'])).size).toBe(350);
    expect(receiver.received).toHaveLength(350);
  });

  it('in thousands delay neither job changes nor new webhooks', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await service.subscribe({ event: 'funding.round', url: receiver.url('/many') });
    await service.subscribe({ event: 'job.change', url: receiver.url('/change') });
    const job = { title: 'CTO', company_name: 'Acme', company_domain: 'acme.example' };
    await writeElsewhere(service, (store) => {
      loadSignals(
        store,
        Array.from({ length: 5_000 }, (_, n) => signalOf(`s${n}`, 'funding', 'acme.example')),
        'crm',
      );
      new JobChangeRows(store).add('pe_1', job, { ...job, title: 'CEO' }, 0);
    });
    await receiver.count(1);
    await service.subscribe({ event: 'job.change', url: receiver.url('/late') });
    await writeElsewhere(service, (store) => new JobChangeRows(store).add('pe_1', job, { ...job, title: 'CFO' }, 0));
    const changes = (): number => receiver.received.filter(({ path }) => path !== '/many').length;
    while (changes() < 3) await receiver.count(receiver.received.length + 1);
    let made = 0;
    await writeElsewhere(service, (store) => {
      made = Number(store.books.prepare("SELECT count(*) AS n FROM webhook_deliveries WHERE type = 'funding.round'").get()?.['n']);
    });
    expect(made).toBeLessThan(5_000);
  });

  it('new signals are delivered while the fan-out of others still runs', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    for (let n = 0; n < 20; n++) await service.subscribe({ event: 'funding.round', url: receiver.url(`/${n}`) });
    await writeElsewhere(service, (store) =>
      loadSignals(
        store,
        Array.from({ length: 1_000 }, (_, n) => signalOf(`s${n}`, 'funding', 'acme.example')),
        'crm',
      ),
    );
    await receiver.count(100);
    let made = 0;
    await writeElsewhere(service, (store) => {
      made = Number(store.books.prepare('SELECT count(*) AS n FROM webhook_deliveries').get()?.['n']);
    });
    expect(made).toBeLessThan(5_000);
  });

  it('new signals are not fanned out to a webhook that a change disables', async () => {
    const service = await serveHooked();
    const { id } = await service.subscribe({ event: 'funding.round', url: 'http://127.0.0.1:9' });
    await writeElsewhere(service, (store) =>
      loadSignals(
        store,
        Array.from({ length: 3_000 }, (_, n) => signalOf(`s${n}`, 'funding', 'acme.example')),
        'crm',
      ),
    );
    expect((await service.call('PATCH', `/v1/webhooks/${id}`, { enabled: false })).status).toBe(200);
    await writeElsewhere(service, (store) =>
      expect(store.books.prepare('SELECT count(*) AS n FROM webhook_deliveries').get()?.['n']).toBeLessThan(3_000),
    );
  });
});
