import { describe, expect, it } from 'vitest';
import type { SparseRecord } from '../../../src/service/records.ts';
import { loadCompanies, loadPeople, loadSignals } from '../../../src/service/store/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { suppress } from '../../../src/service/store/suppress.ts';
import { JobChangeRows } from '../../../src/service/webhooks/job-change-rows.ts';
import { newSecret } from '../../../src/service/webhooks/signature.ts';
import { checkEvent } from '../answers.ts';
import { serveHooked, type Hooked } from './hooked.ts';
import { load } from '../loading.ts';
import { World } from './processes.ts';
import { Receiver } from './receiver.ts';

/** As another process writes to the store. */
async function elsewhere(service: Hooked, work: (store: Store) => unknown): Promise<void> {
  const store = openStore(service.store);
  await work(store);
  store.close();
}

const signal = (id: string, type: string, domain: string, more: SparseRecord = {}): SparseRecord => ({ id, type, domain, occurred_at: '2026-01-01', ...more });

describe('new signals', () => {
  it('are told once, as GET /v1/signals shows them, to who subscribed to their kind and whose filter they meet; not what was there before', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await elsewhere(service, (store) => {
      loadCompanies(store, [{ domain: 'globex.example', name: 'Globex', domain_aliases: ['globex.test'], industry: 'Retail', hq: { country_code: 'ES' } }], 'crm');
      loadSignals(store, [signal('old', 'funding', 'acme.example')], 'crm');
    });
    await service.subscribe({ events: ['funding.round', 'hiring.change', 'executive.move', 'technology.change'], url: receiver.url('/all') });
    await service.subscribe({ event: 'funding.round', url: receiver.url('/globex'), filter: { domain: ['https://GLOBEX.test'] } });
    await service.subscribe({ events: ['hiring.change', 'funding.round'], url: receiver.url('/spain'), filter: { country: ['es', 'fr'], industry: ['retail'] } });
    await service.subscribe({ event: 'funding.round', url: receiver.url('/nobody'), filter: { country: ['DE'] } });
    await elsewhere(service, (store) => loadSignals(store, [
      signal('f1', 'funding', 'acme.example'), signal('f2', 'funding', 'globex.example'), signal('h1', 'hiring', 'globex.test'), signal('e1', 'exec_moves', 'acme.example'), signal('t1', 'tech_changes', 'acme.example'),
    ], 'crm'));
    const all = await receiver.count(8);
    // Reported again, it is no news.
    await elsewhere(service, (store) => loadSignals(store, [signal('f1', 'funding', 'acme.example', { subtype: 'seed' }), signal('f3', 'funding', 'globex.example')], 'crm'));
    await receiver.count(11);
    const told = (path: string): string[] => all.filter((one) => one.path === path).map(({ body }) => `${body.type} ${String(body.data['id'])}`).toSorted();
    expect([told('/all'), told('/globex'), told('/spain'), told('/nobody')]).toEqual([
      ['executive.move e1', 'funding.round f1', 'funding.round f2', 'funding.round f3', 'hiring.change h1', 'technology.change t1'], ['funding.round f2', 'funding.round f3'], ['funding.round f2', 'funding.round f3', 'hiring.change h1'], [],
    ]);
    const { json } = await service.call('GET', '/v1/signals?limit=100');
    const shown = (json['data'] as SparseRecord[]).find(({ id }) => id === 'f2');
    expect(all.find(({ path, body }) => path === '/globex' && body.data['id'] === 'f2')?.body.data).toEqual(shown);
    await service.close();
    expect(receiver.received).toHaveLength(11);
  });

  it('that come after the newest ones were erased are told all the same', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await elsewhere(service, (store) => loadSignals(store, [signal('old', 'executive_move', 'acme.example', { person: { id: 'pe_1' } })], 'crm'));
    await service.subscribe({ event: 'executive.move', url: receiver.url() });
    await elsewhere(service, (store) => {
      expect(suppress(store, ['jane.doe@acme.example'], Date.now()).signals).toBe(1);
      loadSignals(store, [signal('new', 'executive_move', 'acme.example')], 'crm');
    });
    const [told] = await receiver.count(1);
    expect(told?.body.data['id']).toBe('new');
  });

  it('are not told of the time while a webhook was disabled, nor by a filter that came later', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    const { id } = await service.subscribe({ event: 'funding.round', url: receiver.url(), filter: { domain: ['nobody.example'] } });
    await elsewhere(service, (store) => loadSignals(store, [signal('f1', 'funding', 'acme.example')], 'crm'));
    await service.call('PATCH', `/v1/webhooks/${id}`, { filter: {} });
    await elsewhere(service, (store) => loadSignals(store, [signal('f2', 'funding', 'acme.example')], 'crm'));
    await receiver.count(1);
    await service.call('PATCH', `/v1/webhooks/${id}`, { enabled: false });
    await elsewhere(service, (store) => loadSignals(store, [signal('f3', 'funding', 'acme.example')], 'crm'));
    await service.call('PATCH', `/v1/webhooks/${id}`, { enabled: true });
    await elsewhere(service, (store) => loadSignals(store, [signal('f4', 'funding', 'acme.example')], 'crm'));
    expect((await receiver.count(2)).map(({ body }) => body.data['id'])).toEqual(['f2', 'f4']);
  });

  it('that met the filter that there was are told, though another came before anybody looked', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    const { id } = await service.subscribe({ event: 'funding.round', url: receiver.url() });
    for (const [name, domain] of [['f1', 'one.example'], ['f2', 'two.example'], ['f3', 'three.example']] as const) {
      await elsewhere(service, (store) => loadSignals(store, [signal(name, 'funding', domain), signal(`${name}_other`, 'funding', 'nobody.example')], 'crm'));
      await service.call('PATCH', `/v1/webhooks/${id}`, { filter: { domain: [`${['two', 'three', 'four'][Number(name[1]) - 1] ?? ''}.example`] } });
    }
    expect((await receiver.count(4)).map(({ body }) => String(body.data['id'])).toSorted()).toEqual(['f1', 'f1_other', 'f2', 'f3']);
  });

  it('that are more than a change can wait for are told some now, and go on from there', async () => {
    const process = (await World.make()).start();
    const { news, rows, deliveries } = process.hooks;
    loadSignals(process.store, [signal('old', 'funding', 'acme.example')], 'crm');
    // Nobody else looks for what is to be told.
    const webhook = rows.add('k', { url: 'http://127.0.0.1:9', events: ['funding.round'], filter: {}, disabled: null }, newSecret(), news.ends(), 0);
    loadSignals(process.store, Array.from({ length: 200 }, (_, n) => signal(`s${n}`, 'funding', 'acme.example')), 'crm');
    const ends = news.ends();
    const tell = async (withinMs: number): Promise<unknown> => [await news.tellAll(webhook, ends, withinMs), deliveries.pending()];
    // It has no place among changes of jobs of which it was told nothing: they are passed over.
    expect(await tell(0)).toEqual([{ ...ends, signals: 0 }, 50]);
    expect(await tell(0)).toEqual([{ ...ends, signals: 0 }, 100]);
    expect(await tell(Infinity)).toEqual([ends, 200]);
  });

  it('by the thousand are told in full', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await service.subscribe({ event: 'funding.round', url: receiver.url(), filter: { domain: ['acme.example'] } });
    await elsewhere(service, (store) => loadSignals(store, Array.from({ length: 7_000 }, (_, n) => signal(`s${n}`, 'funding', n % 20 === 0 ? 'acme.example' : 'globex.example')), 'crm'));
    const all = await receiver.count(350);
    await service.close();
    expect(new Set(all.map(({ body }) => body.data['id'])).size).toBe(350);
    expect(receiver.received).toHaveLength(350);
  });

  it('by the thousand hold up neither changes of jobs nor who subscribes meanwhile', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await service.subscribe({ event: 'funding.round', url: receiver.url('/many') });
    await service.subscribe({ event: 'job.change', url: receiver.url('/change') });
    const job = { title: 'CTO', company_name: 'Acme', company_domain: 'acme.example' };
    await elsewhere(service, (store) => {
      loadSignals(store, Array.from({ length: 5_000 }, (_, n) => signal(`s${n}`, 'funding', 'acme.example')), 'crm');
      new JobChangeRows(store).add('pe_1', job, { ...job, title: 'CEO' }, 0);
    });
    await receiver.count(1);
    await service.subscribe({ event: 'job.change', url: receiver.url('/late') });
    await elsewhere(service, (store) => new JobChangeRows(store).add('pe_1', job, { ...job, title: 'CFO' }, 0));
    const changes = (): number => receiver.received.filter(({ path }) => path !== '/many').length;
    while (changes() < 3) await receiver.count(receiver.received.length + 1);
    let made = 0;
    await elsewhere(service, (store) => {
      made = Number(store.prepare("SELECT count(*) AS n FROM webhook_deliveries WHERE type = 'funding.round'").get()?.['n']);
    });
    expect(made).toBeLessThan(5_000);
  });

  it('are delivered while others are still being told', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    for (let n = 0; n < 20; n++) await service.subscribe({ event: 'funding.round', url: receiver.url(`/${n}`) });
    await elsewhere(service, (store) => loadSignals(store, Array.from({ length: 1_000 }, (_, n) => signal(`s${n}`, 'funding', 'acme.example')), 'crm'));
    await receiver.count(100);
    let made = 0;
    await elsewhere(service, (store) => {
      made = Number(store.prepare('SELECT count(*) AS n FROM webhook_deliveries').get()?.['n']);
    });
    expect(made).toBeLessThan(5_000);
  });

  it('are not made into deliveries for a webhook that is being disabled', async () => {
    const service = await serveHooked();
    const { id } = await service.subscribe({ event: 'funding.round', url: 'http://127.0.0.1:9' });
    await elsewhere(service, (store) => loadSignals(store, Array.from({ length: 3_000 }, (_, n) => signal(`s${n}`, 'funding', 'acme.example')), 'crm'));
    expect((await service.call('PATCH', `/v1/webhooks/${id}`, { enabled: false })).status).toBe(200);
    await elsewhere(service, (store) => expect(store.prepare('SELECT count(*) AS n FROM webhook_deliveries').get()?.['n']).toBeLessThan(3_000));
  });
});

describe('job.change', () => {
  const COMPANIES = [{ domain: 'globex.example', name: 'Globex', domain_aliases: ['globex.test'] }, { domain: 'initech.example', name: 'Initech' }];
  const known = (id: string, more: SparseRecord): SparseRecord => ({ id, email: `${id}@home.example`, name: `Person ${id}`, updated_at: '2025-01-01', ...more });

  async function changes(before: readonly SparseRecord[], after: readonly SparseRecord[], filters: readonly SparseRecord[], wanted: number, put: (store: Store, people: readonly SparseRecord[]) => unknown = (store, people) => loadPeople(store, people, 'crm')) {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await elsewhere(service, (store) => {
      loadCompanies(store, COMPANIES, 'crm');
      return put(store, before);
    });
    for (const [n, filter] of filters.entries()) await service.subscribe({ event: 'job.change', url: receiver.url(`/${n}`), filter });
    await elsewhere(service, (store) => put(store, after));
    const all = await receiver.count(wanted);
    await service.close();
    return all.map(({ path, body: { type, data } }) => ({ path, type, data })).toSorted((one, other) => `${one.path}${String(one.data['person'])}`.localeCompare(`${other.path}${String(other.data['person'])}`));
  }

  it('tells from where to where somebody went by a newer record, without address and number, to who tracks them', async () => {
    const jane = known('p1', { title: 'CTO', company_domain: 'globex.example', linkedin_url: 'https://profiles.example/in/p1', mobile: '+12125550100', location: { country_code: 'ES' } });
    const moved = { ...jane, company_domain: 'initech.example', title: 'CEO', updated_at: '2026-01-01' };
    const filters = [{}, { domain: ['globex.test'] }, { domain: ['initech.example'], country: ['es'] }, { email: ['P1@home.example'], id: ['nobody'] }, { linkedin_url: ['profiles.example/in/p1/'] }, { id: ['p1'] }, { country: ['DE'] }, { domain: ['acme.example'] }, { id: ['p2'] }];
    const all = await changes([jane], [moved], filters, 6);
    expect(all.map(({ path }) => path)).toEqual(['/0', '/1', '/2', '/3', '/4', '/5']);
    expect(all[0]).toEqual({
      path: '/0', type: 'job.change',
      data: {
        person: 'p1', name: 'Person p1', title: 'CEO', linkedin_url: jane['linkedin_url'], company: { id: expect.any(String) as string, name: 'Initech', domain: 'initech.example', employees: null, industry: null },
        from: { title: 'CTO', company_name: 'Globex', company_domain: 'globex.example' }, to: { title: 'CEO', company_name: 'Initech', company_domain: 'initech.example' }, detected_at: expect.stringMatching(/^20.*Z$/) as string,
      },
    });
    expect(JSON.stringify(all)).not.toMatch(/home\.example|2125550100/);
  });

  it('is not what an older record says, another spelling or domain of the same, or something new beside', async () => {
    const at = (id: string, before: SparseRecord, after: SparseRecord, updated = '2026-01-01'): [SparseRecord, SparseRecord] => [known(id, before), known(id, { ...after, updated_at: updated })];
    const pairs = [
      at('older', { company_domain: 'globex.example', title: 'CTO' }, { company_domain: 'initech.example', title: 'CEO' }, '2024-01-01'),
      at('spelling', { title: 'Chief of Staff', company_name: 'Globex' }, { title: 'CHIEF OF STAFF', company_name: 'GLOBEX' }),
      at('alias', { company_domain: 'globex.example' }, { company_domain: 'globex.test' }),
      at('named', { company_domain: 'globex.example' }, { company_name: 'Globex' }),
      at('first', { }, { title: 'CTO', company_domain: 'globex.example' }),
      at('same_time', { title: 'CTO' }, { title: 'CEO' }, '2025-01-01'),
      at('beside', { title: 'CTO', company_domain: 'globex.example' }, { headline: 'Builds things' }),
      at('title', { title: 'CTO', company_domain: 'globex.example' }, { title: 'CEO' }),
      at('name', { company_name: 'Globex' }, { company_name: 'Initech' }),
    ] as const;
    const all = await changes(pairs.map(([before]) => before), pairs.map(([, after]) => after), [{}], 2);
    expect(all.map(({ data }) => data['person'])).toEqual(['name', 'title']);
  });

  it('is not that somebody works elsewhere than was guessed from their address', async () => {
    const [guess, known] = [{ id: 'guess', email: 'guess@globex.example', name: 'Guess' }, { id: 'known', email: 'known@globex.example', name: 'Known', company_domain: 'globex.example' }];
    const move = { company_domain: 'initech.example', updated_at: '2026-02-01' };
    const all = await changes([guess, known], [{ ...guess, ...move }, { ...known, ...move }], [{}], 1, (store, people) => load(store, people));
    expect(all.map(({ data }) => data['person'])).toEqual(['known']);
  });

  it('is not dropped by a clock that is ahead before it is told, but where nobody is told of it here', async () => {
    const world = await World.make();
    const { hooks: { news, rows }, store } = world.start();
    const job = { title: 'CTO', company_name: 'Acme', company_domain: 'acme.example' };
    const changes = new JobChangeRows(store);
    // Of one key, and of one that is not in force any more.
    const [here, lost] = ['k', 'lost'].map((key) => rows.add(key, { url: 'http://127.0.0.1:9', events: ['job.change'], filter: {}, disabled: null }, newSecret(), news.ends(), 0).id) as [string, string];
    for (const person of ['pe_1', 'pe_2']) changes.add(person, job, { ...job, title: 'CEO' }, world.nowMs);
    rows.sawChanges(here, 1);
    world.nowMs += 8 * 24 * 3_600_000;
    const left = async (told: readonly string[]): Promise<string[]> => {
      await news.prune(told);
      return changes.following(0, 10).map(({ person }) => person);
    };
    expect([await left([here, lost]), await left([here]), await left([])]).toEqual([['pe_1', 'pe_2'], ['pe_2'], []]);
  });

  it('is noted only where somebody wants to know, and not kept longer than it takes to tell', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    const noted = (): number => {
      const store = openStore(service.store);
      const { length } = new JobChangeRows(store).following(0, 100);
      store.close();
      return length;
    };
    const become = (title: string, year: number): Promise<void> => elsewhere(service, (store) => loadPeople(store, [known('p1', { title, updated_at: `${year}-01-01` })], 'crm'));
    await become('CTO', 2020);
    await become('CEO', 2021);
    expect(noted()).toBe(0);
    const { id } = await service.subscribe({ event: 'job.change', url: receiver.url() });
    await become('Chair', 2022);
    expect(noted()).toBe(1);
    await receiver.count(1);
    await service.call('PATCH', `/v1/webhooks/${id}`, { enabled: false });
    await become('Retired', 2023);
    expect(noted()).toBe(1);
    await elsewhere(service, (store) => new JobChangeRows(store).prune(Date.now(), 0));
    expect(noted()).toBe(0);
    await service.close();
  });
});
