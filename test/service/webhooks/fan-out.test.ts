import { describe, expect, it } from 'vitest';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { loadCompanies, loadSignals } from '../../../src/service/store/rows/load.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { checkEvent } from '../answers.ts';
import { serveHooked, signalOf, writeElsewhere } from './hooked.ts';
import { Receiver } from './receiver.ts';

describe('new signals', () => {
  it('reach each subscriber of their type whose filter matches, once, in the form of GET /v1/signals; earlier ones do not', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await writeElsewhere(service, (store) => {
      loadCompanies(
        store,
        [{ domain: 'globex.example', name: 'Globex', domain_aliases: ['globex.test'], industry: 'Retail', hq: { country_code: 'ES' } }],
        'crm',
      );
      loadSignals(store, [signalOf('old', 'funding', 'acme.example')], 'crm');
    });
    await service.subscribe({
      events: ['funding.round', 'hiring.change', 'executive.move', 'technology.change'],
      url: receiver.url('/all'),
    });
    await service.subscribe({ event: 'funding.round', url: receiver.url('/globex'), filter: { domain: ['https://GLOBEX.test'] } });
    await service.subscribe({
      events: ['hiring.change', 'funding.round'],
      url: receiver.url('/spain'),
      filter: { country: ['es', 'fr'], industry: ['retail'] },
    });
    await service.subscribe({ event: 'funding.round', url: receiver.url('/no-match'), filter: { country: ['DE'] } });
    await writeElsewhere(service, (store) =>
      loadSignals(
        store,
        [
          signalOf('f1', 'funding', 'acme.example'),
          signalOf('f2', 'funding', 'globex.example'),
          signalOf('h1', 'hiring', 'globex.test'),
          signalOf('e1', 'exec_moves', 'acme.example'),
          signalOf('t1', 'tech_changes', 'acme.example'),
        ],
        'crm',
      ),
    );
    const all = await receiver.count(8);
    // A signal that is reported again is not new.
    await writeElsewhere(service, (store) =>
      loadSignals(
        store,
        [signalOf('f1', 'funding', 'acme.example', { subtype: 'seed' }), signalOf('f3', 'funding', 'globex.example')],
        'crm',
      ),
    );
    await receiver.count(11);
    const received = (path: string): string[] =>
      all
        .filter((one) => one.path === path)
        .map(({ body }) => `${body.type} ${String(body.data['id'])}`)
        .toSorted();
    expect([received('/all'), received('/globex'), received('/spain'), received('/no-match')]).toEqual([
      ['executive.move e1', 'funding.round f1', 'funding.round f2', 'funding.round f3', 'hiring.change h1', 'technology.change t1'],
      ['funding.round f2', 'funding.round f3'],
      ['funding.round f2', 'funding.round f3', 'hiring.change h1'],
      [],
    ]);
    const { json } = await service.call('GET', '/v1/signals?limit=100');
    const listed = (json['data'] as SparseRecord[]).find(({ id }) => id === 'f2');
    expect(all.find(({ path, body }) => path === '/globex' && body.data['id'] === 'f2')?.body.data).toEqual(listed);
    await service.close();
    expect(receiver.received).toHaveLength(11);
  });

  it('new signals are sent even if the newest signal before them was erased', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await writeElsewhere(service, (store) =>
      loadSignals(store, [signalOf('old', 'executive_move', 'acme.example', { person: { id: 'pe_1' } })], 'crm'),
    );
    await service.subscribe({ event: 'executive.move', url: receiver.url() });
    await writeElsewhere(service, (store) => {
      expect(suppress(store, ['jane.doe@acme.example'], Date.now()).signals).toBe(1);
      loadSignals(store, [signalOf('new', 'executive_move', 'acme.example')], 'crm');
    });
    const [delivery] = await receiver.count(1);
    expect(delivery?.body.data['id']).toBe('new');
  });

  it('new signals are not sent if the webhook was disabled, or its filter did not match, when they became known', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    const { id } = await service.subscribe({ event: 'funding.round', url: receiver.url(), filter: { domain: ['nobody.example'] } });
    await writeElsewhere(service, (store) => loadSignals(store, [signalOf('f1', 'funding', 'acme.example')], 'crm'));
    await service.call('PATCH', `/v1/webhooks/${id}`, { filter: {} });
    await writeElsewhere(service, (store) => loadSignals(store, [signalOf('f2', 'funding', 'acme.example')], 'crm'));
    await receiver.count(1);
    await service.call('PATCH', `/v1/webhooks/${id}`, { enabled: false });
    await writeElsewhere(service, (store) => loadSignals(store, [signalOf('f3', 'funding', 'acme.example')], 'crm'));
    await service.call('PATCH', `/v1/webhooks/${id}`, { enabled: true });
    await writeElsewhere(service, (store) => loadSignals(store, [signalOf('f4', 'funding', 'acme.example')], 'crm'));
    expect((await receiver.count(2)).map(({ body }) => body.data['id'])).toEqual(['f2', 'f4']);
  });

  it('follow the filter of the time when they became known, even if it is changed before the fan-out', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    const { id } = await service.subscribe({ event: 'funding.round', url: receiver.url() });
    for (const [name, domain] of [
      ['f1', 'one.example'],
      ['f2', 'two.example'],
      ['f3', 'three.example'],
    ] as const) {
      await writeElsewhere(service, (store) =>
        loadSignals(store, [signalOf(name, 'funding', domain), signalOf(`${name}_other`, 'funding', 'nobody.example')], 'crm'),
      );
      await service.call('PATCH', `/v1/webhooks/${id}`, {
        filter: { domain: [`${['two', 'three', 'four'][Number(name[1]) - 1] ?? ''}.example`] },
      });
    }
    expect((await receiver.count(4)).map(({ body }) => String(body.data['id'])).toSorted()).toEqual(['f1', 'f1_other', 'f2', 'f3']);
  });
});
