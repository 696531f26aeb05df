import { expect, it } from 'vitest';
import type { ImportKind } from '../../../../src/service/admin/import/column-names.ts';
import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import { emptyStore, load } from '../../loading.ts';

async function dropped(kind: ImportKind, rows: Parameters<typeof load>[1]): Promise<unknown> {
  const store = await emptyStore();
  const { counts, rejected } = await load(store, rows, { kind });
  store.close();
  expect(rejected).toEqual([]);
  return counts.dropped;
}

const PERSON = { email: 'ann@acme.example', salary: 5, age: null, __proto__: null };
const SIGNAL = { type: 'funding', domain: 'acme.example', occurred_at: '2026-01-01' };

it.each<[string, ImportKind, readonly SparseRecord[] | readonly (readonly string[])[], Record<string, number>]>([
  ['of people', 'contacts', [PERSON, { ...PERSON, email: 'bob@acme.example', verified: true }], { salary: 2 }],
  [
    'of their objects',
    'contacts',
    [
      {
        email: 'ann@acme.example',
        education: [{ school: 'MIT', grade: 1 }, { school: 'ETH', grade: 2, note: '' }, 'TUM'],
        location: { lat: 'north', floor: 3 },
      },
    ],
    { 'education.grade': 1, education: 1, 'location.lat': 1, 'location.floor': 1 },
  ],
  [
    'of their company',
    'contacts',
    [{ email: 'ann@acme.example', company: { name: 'Acme', domain: 'acme.example', ceo: 'x', hq: { floor: 3 } } }],
    { 'company.ceo': 1, 'company.hq.floor': 1 },
  ],
  [
    'of companies',
    'companies',
    [
      {
        domain: 'acme.example',
        ceo: 'x',
        signals: [{ id: 1 }],
        funding: { rounds: [{ amount: 5, note: 'x' }] },
        employees_by_country: { DE: 3, FR: 'some', 'ann@acme.example': 4 },
      },
    ],
    { ceo: 1, signals: 1, 'funding.rounds.note': 1, 'employees_by_country.*': 1 },
  ],
  [
    'of signals',
    'signals',
    [
      {
        ...SIGNAL,
        note: 'x',
        company: { name: 'Acme', phone: 'x' },
        person: { email: 'ann@acme.example', first_name: 'Ann', last_name: 'Poe' },
        data: { openings: 3, amount: 4 },
      },
    ],
    { note: 1, 'company.phone': 1, 'person.email': 1, 'data.openings': 1 },
  ],
  [
    'of a table',
    'contacts',
    [
      ['email', 'Note'],
      ['ann@acme.example', 'x'],
      ['bob@acme.example', ''],
    ],
    { Note: 1 },
  ],
  [
    'in texts',
    'contacts',
    [{ email: 'ann@acme.example', name: 'Ann <ann@acme.example>', skills: ['Go', '+12125550100'] }],
    { name: 1, skills: 1 },
  ],
])('unknown names %s are counted by their path', async (_, kind, rows, counts) => {
  expect(await dropped(kind, rows)).toEqual(counts);
});

it('names of prototype members count like any other name', async () => {
  const row = JSON.parse(
    '{"email":"ann@acme.example","__proto__":{"x":1},"constructor":1,"location":{"city":"Ulm","__proto__":{"x":1},"toString":1}}',
  ) as SparseRecord;
  expect(new Map(Object.entries((await dropped('contacts', [row])) as object))).toEqual(
    new Map([
      ['__proto__', 1],
      ['constructor', 1],
      ['location.__proto__', 1],
      ['location.toString', 1],
    ]),
  );
});

it('other columns of a mail service, and of an enriched output, are not counted', async () => {
  expect(await dropped('deliveries', [{ email: 'ann@acme.example', event: 'delivered', at: '2026-01-01', sg_event_id: 'x' }])).toEqual({});
  expect(
    await dropped('contacts', [
      ['email', 'Note', 'enrich.name', 'enrich.likelihood', 'result.outcome'],
      ['ann@acme.example', 'x', 'Ann', '98', 'matched'],
    ]),
  ).toEqual({});
});

it('when a file has too many names, the remaining ones are counted together', async () => {
  const counts = (await dropped(
    'contacts',
    Array.from({ length: 3 }, (_, row) => ({
      email: `a${row}@acme.example`,
      ...Object.fromEntries(Array.from({ length: 1_000 }, (_v, n) => [`x${row}_${n}`, 1])),
    })),
  )) as Record<string, number>;
  expect(Object.keys(counts).length).toBeLessThanOrEqual(1_001);
  expect(Object.values(counts).reduce((sum, count) => sum + count)).toBe(3_000);
});
