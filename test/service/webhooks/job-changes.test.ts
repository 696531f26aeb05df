import { describe, expect, it } from 'vitest';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { loadCompanies, loadPeople } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { JobChangeRows } from '../../../src/service/store/rows/job-change-rows.ts';
import { newSecret } from '../../../src/service/webhooks/secrets.ts';
import { checkEvent } from '../answers.ts';
import { serveHooked, writeElsewhere } from './hooked.ts';
import { load } from '../loading.ts';
import { World } from './processes.ts';
import { Receiver } from './receiver.ts';

describe('a job.change event', () => {
  const COMPANIES = [
    { domain: 'globex.example', name: 'Globex', domain_aliases: ['globex.test'] },
    { domain: 'initech.example', name: 'Initech' },
  ];
  const personOf = (id: string, more: SparseRecord): SparseRecord => ({
    id,
    email: `${id}@home.example`,
    name: `Person ${id}`,
    updated_at: '2025-01-01',
    ...more,
  });

  async function changes(
    before: readonly SparseRecord[],
    after: readonly SparseRecord[],
    filters: readonly SparseRecord[],
    wanted: number,
    put: (store: Store, people: readonly SparseRecord[]) => unknown = (store, people) => loadPeople(store, people, 'crm'),
  ) {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await writeElsewhere(service, (store) => {
      loadCompanies(store, COMPANIES, 'crm');
      return put(store, before);
    });
    for (const [n, filter] of filters.entries()) await service.subscribe({ event: 'job.change', url: receiver.url(`/${n}`), filter });
    await writeElsewhere(service, (store) => put(store, after));
    const all = await receiver.count(wanted);
    await service.close();
    return all
      .map(({ path, body: { type, data } }) => ({ path, type, data }))
      .toSorted((one, other) => `${one.path}${String(one.data['person'])}`.localeCompare(`${other.path}${String(other.data['person'])}`));
  }

  it('reports a newer employer and title, without address and number, to each webhook whose filter matches', async () => {
    const jane = personOf('p1', {
      title: 'CTO',
      company_domain: 'globex.example',
      linkedin_url: 'https://profiles.example/in/p1',
      mobile: '+12125550100',
      location: { country_code: 'ES' },
    });
    const moved = { ...jane, company_domain: 'initech.example', title: 'CEO', updated_at: '2026-01-01' };
    const filters = [
      {},
      { domain: ['globex.test'] },
      { domain: ['initech.example'], country: ['es'] },
      { email: ['P1@home.example'], id: ['nobody'] },
      { linkedin_url: ['profiles.example/in/p1/'] },
      { id: ['p1'] },
      { country: ['DE'] },
      { domain: ['acme.example'] },
      { id: ['p2'] },
    ];
    const all = await changes([jane], [moved], filters, 6);
    expect(all.map(({ path }) => path)).toEqual(['/0', '/1', '/2', '/3', '/4', '/5']);
    expect(all[0]).toEqual({
      path: '/0',
      type: 'job.change',
      data: {
        person: 'p1',
        name: 'Person p1',
        title: 'CEO',
        linkedin_url: jane['linkedin_url'],
        company: { id: expect.any(String) as string, name: 'Initech', domain: 'initech.example', employees: null, industry: null },
        from: { title: 'CTO', company_name: 'Globex', company_domain: 'globex.example' },
        to: { title: 'CEO', company_name: 'Initech', company_domain: 'initech.example' },
        detected_at: expect.stringMatching(/^20.*Z$/) as string,
      },
    });
    expect(JSON.stringify(all)).not.toMatch(/home\.example|2125550100/);
  });

  it('does not come from an older record, another spelling or domain of the same employer, or another field', async () => {
    const at = (id: string, before: SparseRecord, after: SparseRecord, updated = '2026-01-01'): [SparseRecord, SparseRecord] => [
      personOf(id, before),
      personOf(id, { ...after, updated_at: updated }),
    ];
    const pairs = [
      at('older', { company_domain: 'globex.example', title: 'CTO' }, { company_domain: 'initech.example', title: 'CEO' }, '2024-01-01'),
      at('spelling', { title: 'Chief of Staff', company_name: 'Globex' }, { title: 'CHIEF OF STAFF', company_name: 'GLOBEX' }),
      at('alias', { company_domain: 'globex.example' }, { company_domain: 'globex.test' }),
      at('named', { company_domain: 'globex.example' }, { company_name: 'Globex' }),
      at('first', {}, { title: 'CTO', company_domain: 'globex.example' }),
      at('same_time', { title: 'CTO' }, { title: 'CEO' }, '2025-01-01'),
      at('beside', { title: 'CTO', company_domain: 'globex.example' }, { headline: 'Builds things' }),
      at('title', { title: 'CTO', company_domain: 'globex.example' }, { title: 'CEO' }),
      at('name', { company_name: 'Globex' }, { company_name: 'Initech' }),
    ] as const;
    const all = await changes(
      pairs.map(([before]) => before),
      pairs.map(([, after]) => after),
      [{}],
      2,
    );
    expect(all.map(({ data }) => data['person'])).toEqual(['name', 'title']);
  });

  it('does not come from a former employer that was derived from the address', async () => {
    const [derived, known] = [
      { id: 'derived', email: 'derived@globex.example', name: 'Derived' },
      { id: 'known', email: 'known@globex.example', name: 'Known', company_domain: 'globex.example' },
    ];
    const move = { company_domain: 'initech.example', updated_at: '2026-02-01' };
    const all = await changes(
      [derived, known],
      [
        { ...derived, ...move },
        { ...known, ...move },
      ],
      [{}],
      1,
      (store, people) => load(store, people),
    );
    expect(all.map(({ data }) => data['person'])).toEqual(['known']);
  });

  it('a job.change event is not dropped before all subscribed webhooks have it, even if the clock is ahead', async () => {
    const world = await World.make();
    const {
      hooks: { fanOut, rows },
      store,
    } = world.start();
    const job = { title: 'CTO', company_name: 'Acme', company_domain: 'acme.example' };
    const changes = new JobChangeRows(store);
    // One webhook of a valid key, and one of a revoked key.
    const [valid, revoked] = ['k', 'revoked'].map(
      (key) =>
        rows.add(
          key,
          { url: 'http://127.0.0.1:9', events: ['job.change'], filter: {}, disabled: null },
          newSecret(),
          fanOut.streamEnds(),
          0,
        ).id,
    ) as [string, string];
    for (const person of ['pe_1', 'pe_2']) changes.add(person, job, { ...job, title: 'CEO' }, world.nowMs);
    rows.setChangePosition(valid, 1);
    world.nowMs += 8 * 24 * 3_600_000;
    const storedAfter = (subscribed: readonly string[]): string[] => {
      fanOut.prune(subscribed);
      return changes.following(0, 10).map(({ person }) => person);
    };
    expect([storedAfter([valid, revoked]), storedAfter([valid]), storedAfter([])]).toEqual([['pe_1', 'pe_2'], ['pe_2'], []]);
  });

  it('a job.change event is stored only while a webhook subscribes to it, and until every webhook has it', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    const stored = (): number => {
      const store = openStore(service.store);
      const { length } = new JobChangeRows(store).following(0, 100);
      store.close();
      return length;
    };
    const become = (title: string, year: number): Promise<void> =>
      writeElsewhere(service, (store) => loadPeople(store, [personOf('p1', { title, updated_at: `${year}-01-01` })], 'crm'));
    await become('CTO', 2020);
    await become('CEO', 2021);
    expect(stored()).toBe(0);
    const { id } = await service.subscribe({ event: 'job.change', url: receiver.url() });
    await become('Chair', 2022);
    expect(stored()).toBe(1);
    await receiver.count(1);
    await service.call('PATCH', `/v1/webhooks/${id}`, { enabled: false });
    await become('Retired', 2023);
    expect(stored()).toBe(1);
    await writeElsewhere(service, (store) => new JobChangeRows(store).prune(Date.now(), 0));
    expect(stored()).toBe(0);
    await service.close();
  });
});
