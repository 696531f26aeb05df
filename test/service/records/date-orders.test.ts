import { describe, expect, it } from 'vitest';
import { exportRecords } from '../../../src/service/admin/export/export-records.ts';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { emptyStore, load } from '../loading.ts';

/** The stored days of a column of dates, and the number of dropped ones. */
async function stored(dates: readonly string[]): Promise<{ days: unknown[]; dropped: unknown }> {
  const store = await emptyStore();
  const { counts } = await load(store, [['Email', 'Role Started On'], ...dates.map((date, n) => [`p${n}@acme.example`, date])]);
  const people = [...exportRecords(store, 'contacts', false)];
  store.close();
  return { days: people.map((person) => person['role_started_on'] ?? null), dropped: counts.dropped };
}

describe('a date that is two days', () => {
  it.each([
    [['03/04/2025', '13/04/2025'], ['2025-04-03', '2025-04-13'], {}],
    [['13/04/2025', '03/04/2025'], ['2025-04-13', '2025-04-03'], {}],
    [['03/04/2025', '04/13/2025'], ['2025-03-04', '2025-04-13'], {}],
    [['03-04-2025', 'Jan 5 2026', '04-13-2025'], ['2025-03-04', '2026-01-05', '2025-04-13'], {}],
    [['03/04/2025', '05/05/2025', '2025-01-02'], [null, '2025-05-05', '2025-01-02'], { role_started_on: 1 }],
    [['03/04/2025', '13/04/2025', '04/13/2025'], [null, '2025-04-13', '2025-04-13'], { role_started_on: 1 }],
  ])('%j is decided by the other values of its column: %j', async (dates, days, dropped) => {
    expect(await stored(dates)).toEqual({ days, dropped });
  });

  it('each column has its own order, also in objects, for people, companies, signals and deliveries', async () => {
    const store = await emptyStore();
    const { counts } = await load(store, [
      {
        email: 'ada@acme.example',
        role_started_on: '03/04/2025',
        first_seen_at: '03/04/2025',
        employment_history: [{ title: 'CTO', started_on: '03/04/2025', ended_on: '03/04/2025' }],
        company: { domain: 'acme.example', name: 'Acme', funding: { last_date: '03/04/2025' } },
      },
      {
        email: 'bob@acme.example',
        role_started_on: '13/04/2025',
        first_seen_at: '04/13/2025',
        employment_history: [{ title: 'CFO', started_on: '25/12/2024' }],
        company: { domain: 'bolt.example', name: 'Bolt', funding: { last_date: '12/25/2024' } },
      },
    ]);
    expect(counts.dropped).toEqual({ 'employment_history.ended_on': 1 });
    const [ada] = [...exportRecords(store, 'contacts', false)];
    const [acme] = [...exportRecords(store, 'companies', false)];
    expect([ada, acme]).toMatchObject([
      {
        role_started_on: '2025-04-03',
        first_seen_at: '2025-03-04T00:00:00Z',
        employment_history: [{ started_on: '2025-04-03', ended_on: null }],
      },
      { funding: { last_date: '2025-03-04' } },
    ]);
    const signals = await load(
      store,
      [
        ['Type', 'Domain', 'Occurred At'],
        ['funding', 'acme.example', '03/04/2025'],
        ['funding', 'acme.example', '13/04/2025'],
      ],
      { kind: 'signals' },
    );
    expect(signals.counts.added).toBe(2);
    expect([...exportRecords(store, 'signals', false)].map(({ occurred_at: at }) => at as string).toSorted()).toEqual([
      '2025-04-03T00:00:00Z',
      '2025-04-13T00:00:00Z',
    ]);
    const mails = await load(
      store,
      [
        ['Email', 'Event', 'At'],
        ['ada@acme.example', 'delivered', '03/04/2025'],
        ['bob@acme.example', 'delivered', '13/04/2025'],
      ],
      { kind: 'deliveries' },
    );
    expect(mails.counts).toMatchObject({ added: 2, rejected: {} });
    store.close();
  });

  it('the time of a report is read as the other dates are', async () => {
    const store = await emptyStore();
    await load(store, [
      ['Email', 'Title', 'Updated At'],
      ['ada@acme.example', 'CTO', '03/04/2025'],
      ['ada@acme.example', 'CFO', '13.03.2025'],
      ['bob@acme.example', 'CEO', '13/04/2025'],
    ]);
    const people = [...exportRecords(store, 'contacts', false)] as SparseRecord[];
    expect(people).toMatchObject([{ title: 'CTO', updated_at: '2025-04-03T00:00:00Z' }, { title: 'CEO' }]);
    store.close();
  });

  it('names without a field are counted once in each row, also in the row that asked for the orders', async () => {
    const store = await emptyStore();
    const { counts } = await load(store, [{ email: 'ada@acme.example', salary: 1, role_started_on: '03/04/2025' }]);
    expect(counts.dropped).toEqual({ salary: 1, role_started_on: 1 });
    store.close();
  });
});
