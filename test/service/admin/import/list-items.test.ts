import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { exportRecords } from '../../../../src/service/admin/export/export-records.ts';
import { addItem } from '../../../../src/service/admin/import/list-items.ts';
import { rowMapperOf } from '../../../../src/service/admin/import/map-row.ts';
import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import { emptyStore, load } from '../../loading.ts';

const [MOBILE, DESK, HOME, OTHER] = ['+4917612345678', '+49307654321', '+4940111222', '+4989333444'];

/** The stored record of one row, as a table and as JSON lines, with the dropped values. */
async function stored(row: Readonly<Record<string, string>>): Promise<{ person: SparseRecord; dropped: unknown }> {
  const found = [];
  for (const rows of [[Object.keys(row), Object.values(row)], [row]]) {
    const store = await emptyStore();
    const { counts } = await load(store, rows);
    const [{ email, mobile, emails, personal_emails: personal, phones } = {}] = exportRecords(store, 'contacts', false);
    found.push({ person: { email, mobile, emails, personal, phones }, dropped: counts.dropped });
    store.close();
  }
  expect(found[1]).toEqual(found[0]);
  return found[0] as { person: SparseRecord; dropped: unknown };
}

it('the number of a desk is not a mobile number', async () => {
  expect(await stored({ Email: 'ann@acme.example', 'Work Phone': '+49 30 7654321', 'Direct Dial': OTHER, 'Home Phone': HOME })).toEqual({
    person: {
      email: 'ann@acme.example',
      mobile: undefined,
      phones: [
        { number: DESK, type: 'work' },
        { number: OTHER, type: 'direct' },
        { number: HOME, type: 'home' },
      ],
    },
    dropped: {},
  });
});

it('every address and number of a row is stored: the best as the main one, the others in their lists', async () => {
  expect(
    await stored({
      'Personal Email': 'Ann@home.example',
      Phone: OTHER,
      Mobile: MOBILE,
      'Work Email': 'ann.poe@acme.example',
      Email: 'ann@acme.example',
      Cell: HOME,
      'Work Phone': DESK,
    }),
  ).toEqual({
    person: {
      email: 'ann@acme.example',
      emails: [{ email: 'ann.poe@acme.example', type: null, status: null }],
      personal: ['ann@home.example'],
      mobile: MOBILE,
      phones: expect.arrayContaining([
        { number: HOME, type: 'mobile' },
        { number: OTHER, type: null },
        { number: DESK, type: 'work' },
      ]) as unknown,
    },
    dropped: {},
  });
});

it('the next best value is used when the best is empty, and no value is stored twice', async () => {
  expect(await stored({ Email: '', 'Personal Email': 'ann@home.example', 'Work Email': '', Mobile: '', Phone: MOBILE })).toMatchObject({
    person: { email: 'ann@home.example', mobile: MOBILE, emails: undefined, personal: undefined, phones: undefined },
    dropped: {},
  });
  expect(
    await stored({ Email: 'ann@acme.example', 'Work Email': 'ANN@acme.example', Mobile: MOBILE, Phone: '+49 176 12345678' }),
  ).toMatchObject({ person: { emails: undefined, phones: undefined }, dropped: {} });
});

it('a list in one text is split, whatever is beside it', async () => {
  const numbers = [
    { number: OTHER, type: null },
    { number: HOME, type: null },
  ];
  const mails = ['b@acme.example', 'c@acme.example'].map((email) => ({ email, type: null, status: null }));
  const lists = {
    Email: 'ann@acme.example',
    Phones: `${OTHER}; 0049 40111222;n/a`,
    Emails: 'b@acme.example;  C@acme.example | none',
    'Personal Emails': 'd@home.example;e@home.example',
  };
  expect(await stored(lists)).toMatchObject({ person: { phones: numbers, emails: mails, personal: ['d@home.example', 'e@home.example'] } });
  expect(await stored({ ...lists, 'Work Phone': DESK, 'Work Email': 'f@acme.example', 'Home Email': 'g@home.example' })).toMatchObject({
    person: {
      phones: [...numbers, { number: DESK, type: 'work' }],
      emails: [...mails, { email: 'f@acme.example' }],
      personal: ['d@home.example', 'e@home.example', 'g@home.example'],
    },
  });
});

it('texts that are not an address or a number are counted as dropped', async () => {
  expect(
    await stored({ Email: 'ann@acme.example', 'Personal Email': 'ask them', 'Work Email': 'nobody', 'Work Phone': '030 7654321' }),
  ).toMatchObject({
    person: { emails: undefined, personal: undefined, phones: undefined },
    dropped: { emails: 1, personal_emails: 1, phones: 1 },
  });
});

it('no valid address or number of a row is lost, in any column', async () => {
  const columns = fc.shuffledSubarray(
    ['Email', 'Work Email', 'Personal Email', 'Business Email', 'Mobile', 'Cell', 'Phone', 'Work Phone', 'Home Phone'],
    { minLength: 1 },
  );
  await fc.assert(
    fc.asyncProperty(columns, async (names) => {
      const row = Object.fromEntries(names.map((name, at) => [name, name.includes('Email') ? `a${at}@acme.example` : `+4930765432${at}`]));
      const { person } = await stored({ LinkedIn: 'https://profiles.example/in/ann', ...row });
      for (const value of Object.values(row)) expect(JSON.stringify(person)).toContain(value);
    }),
    { numRuns: 25 },
  );
});

it('the address of the input is not added to the found person of an enriched output', async () => {
  const store = await emptyStore();
  await load(store, [
    ['Email', 'Personal Email', 'result.outcome', 'enrich.email', 'enrich.name'],
    ['old@acme.example', 'ann@home.example', 'matched', 'ann@acme.example', 'Ann Poe'],
  ]);
  const [person] = exportRecords(store, 'contacts', false);
  expect(person).toMatchObject({ email: 'ann@acme.example', personal_emails: ['ann@home.example'] });
  expect(person).not.toHaveProperty('emails');
  store.close();
});

it('exactly those columns are reported that are used only when a better column of their field is empty', () => {
  const contacts = rowMapperOf('contacts', new Map());
  expect(
    contacts.secondBest(['Position', 'Title', 'Email', 'Work Email', 'Mobile', 'Phone', 'Work Phone', 'Home Phone', 'Shoe Size']),
  ).toEqual(['Position']);
  expect(
    contacts.secondBest([
      'Email',
      'Name',
      'Company',
      'result.outcome',
      'enrich.email',
      'enrich.name',
      'enrich.company.name',
      'company.name',
    ]),
  ).toEqual([]);
  expect(rowMapperOf('companies', new Map()).secondBest(['Website', 'Domain', 'Name', 'Company'])).toEqual(['Company', 'Website']);
});

it('an overlong list gets no more items, because each addition would search all of it', async () => {
  const many = (name: string, count: number): string => Array.from({ length: count }, (_, n) => `${name}${n}@acme.example`).join(';');
  let reads = 0;
  const values = {
    email: 'ann@acme.example',
    emails: many('a', 1_001)
      .split(';')
      .map((email) => ({
        get email() {
          return ++reads && email;
        },
      })),
  };
  for (let n = 0; n < 50; n++) addItem(values, 'email', { list: 'emails', type: null }, `b${n}@acme.example`);
  expect([values.emails.length, reads]).toEqual([1_001, 0]);
  expect(await stored({ Email: many('b', 50), Emails: many('a', 1_001) })).toMatchObject({
    person: { emails: undefined },
    dropped: { emails: 1 },
  });
});
