/** Rows as CRMs and spreadsheets write them. */
import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { exportRecords } from '../../../../src/service/admin/export/export-records.ts';
import type { ImportKind } from '../../../../src/service/admin/import/column-names.ts';
import { phoneOf } from '../../../../src/service/records/field-types.ts';
import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import { guardFormula } from '../../../../src/util/formula-guard.ts';
import { casesOf } from '../../../support/sample.ts';
import { emptyStore, load } from '../../loading.ts';

/** The first stored record of one row, and its dropped values. */
async function stored(
  row: Readonly<Record<string, string>>,
  kind: ImportKind = 'contacts',
): Promise<{ record: SparseRecord; companies: readonly SparseRecord[]; dropped: unknown }> {
  const store = await emptyStore();
  const { counts } = await load(store, [Object.keys(row), Object.values(row)], { kind });
  const [companies, people] = [[...exportRecords(store, 'companies', false)], [...exportRecords(store, 'contacts', false)]];
  store.close();
  return { record: (kind === 'contacts' ? people[0] : companies[0]) ?? {}, companies, dropped: counts.dropped };
}

describe('columns of CRMs', () => {
  it.each([
    [
      {
        'Mobile Phone Number': '+447700900123',
        'State/Region': 'Kent',
        'Country/Region': 'UK',
        'Additional email addresses': 'b@acme.example;c@acme.example',
        'Email Verification': 'valid',
      },
      {
        mobile: '+447700900123',
        email_status: 'verified',
        location: { region: 'Kent', country_code: 'GB' },
        emails: [{ email: 'b@acme.example' }, { email: 'c@acme.example' }],
      },
    ],
    [
      {
        'Mailing City': 'Berlin',
        'Mailing State/Province': 'BE',
        'Mailing Zip/Postal Code': '10115',
        'Mailing Country': 'Germany',
        'Secondary Email': 'b@acme.example',
      },
      { location: { city: 'Berlin', region: 'BE', postal_code: '10115', country_code: 'DE' }, emails: [{ email: 'b@acme.example' }] },
    ],
  ])('columns of people are recognised: %j', async (row, person) => {
    const { record, dropped } = await stored({ Email: 'ada@acme.example', ...row });
    expect({ record, dropped }).toMatchObject({ record: { email: 'ada@acme.example', ...person }, dropped: {} });
  });

  it('a national number takes the country of its row, in every column and in lists', async () => {
    const row = { Email: 'ada@acme.example', 'Mobile Phone': '0171 1234567', 'Work Phone': '030 901820', 'Home Phone': '+44 20 7946 0000' };
    const phones = [
      { number: '+4930901820', type: 'work' },
      { number: '+442079460000', type: 'home' },
    ];
    for (const country of [{ Country: 'Deutschland' }, { 'Country Code': 'DE' }, { 'Company Country': 'Germany' }])
      expect(await stored({ ...row, ...country })).toMatchObject({ record: { mobile: '+491711234567', phones }, dropped: {} });
    const unknown = await stored(row);
    expect(unknown.dropped).toEqual({ mobile: 1 });
    expect(unknown.record).toMatchObject({ phones: [{ number: '+442079460000', type: 'home' }] });
    const store = await emptyStore();
    await load(store, [
      {
        email: 'ada@acme.example',
        location: { country: 'U.S.' },
        mobile: '(212) 555-0100',
        phones: [{ number: '212 555 0101', type: 'work' }],
      },
    ]);
    expect([...exportRecords(store, 'contacts', false)]).toMatchObject([
      { mobile: '+12125550100', phones: [{ number: '+12125550101', type: 'work' }], location: { country_code: 'US' } },
    ]);
    store.close();
  });

  it('a row without a time never replaces a value of a row with one, in either order, for people and companies', async () => {
    const dated = ['ada@acme.example', 'CTO', 'Acme', '2001-01-01'];
    const undated = ['ada@acme.example', 'CFO', 'Bolt', ''];
    for (const rows of [
      [dated, undated],
      [undated, dated],
    ]) {
      const store = await emptyStore();
      for (const row of rows) await load(store, [['Email', 'Title', 'Company', 'Updated At'], row], { asOf: null });
      expect([...exportRecords(store, 'contacts', false)]).toMatchObject([{ title: 'CTO', updated_at: '2001-01-01T00:00:00Z' }]);
      expect([...exportRecords(store, 'companies', false)]).toMatchObject([{ name: 'Acme', updated_at: '2001-01-01T00:00:00Z' }]);
      store.close();
    }
  });

  it('among rows without a time the last one wins, and the record shows when it arrived', async () => {
    const store = await emptyStore();
    for (const title of ['CTO', 'CFO'])
      await load(
        store,
        [
          ['Email', 'Title'],
          ['ada@acme.example', title],
        ],
        { asOf: null },
      );
    expect([...exportRecords(store, 'contacts', true)]).toMatchObject([
      { title: 'CFO', updated_at: '2026-06-01T00:00:00Z', sources: { title: { at: '2026-06-01T00:00:00Z' } } },
    ]);
    store.close();
  });

  it('a number of a calling code that nobody has is left out and counted', async () => {
    expect(await stored({ Email: 'ada@acme.example', Mobile: '+999 555 123456', Country: 'US' })).toMatchObject({ dropped: { mobile: 1 } });
  });

  it('a country in any language has its code, also of offices; a code of no country is left out and counted', async () => {
    expect((await stored({ Email: 'ada@acme.example', Country: 'Deutschland' })).record).toMatchObject({
      location: { country: 'Germany', country_code: 'DE' },
    });
    const { record, dropped } = await stored({ Email: 'ada@acme.example', City: 'Riga', 'Country Code': 'XX' });
    expect({ record, dropped }).toMatchObject({
      record: { location: { city: 'Riga', country_code: null } },
      dropped: { 'location.country_code': 1 },
    });
    const store = await emptyStore();
    await load(store, [{ domain: 'acme.example', locations: [{ country: 'U.S.' }, { country: 'Österreich' }] }], { kind: 'companies' });
    expect([...exportRecords(store, 'companies', false)]).toMatchObject([{ locations: [{ country_code: 'US' }, { country_code: 'AT' }] }]);
    store.close();
  });

  it('columns of companies are recognised, also beside people', async () => {
    const account = {
      'Account Name': 'Acme',
      Website: 'acme.example',
      Type: 'Customer - Direct',
      Ownership: 'Public',
      'Billing City': 'London',
      'Billing Country': 'UK',
      'Ticker Symbol': 'ACM',
      'SIC Code': '7372',
      'NAICS Code': '541511',
      'Year Started': '1999',
    };
    expect((await stored(account, 'companies')).record).toMatchObject({
      name: 'Acme',
      type: 'public',
      hq: { city: 'London', country_code: 'GB' },
      ticker: 'ACM',
      sic: ['7372'],
      naics: ['541511'],
      founded_year: 1999,
    });
    const other = {
      'Record ID': '9001',
      Company: 'Acme',
      'Company Domain Name': 'acme.example',
      'LinkedIn Company Page': 'https://linkedin.com/company/acme',
      'Company City': 'Hampton',
      'Company State': 'Virginia',
      'Company Country': 'United States',
      'SIC Codes': '3761',
      'NAICS Codes': '336414',
      'Last Modified Date': '2026-05-01 12:30',
    };
    expect((await stored(other, 'companies')).record).toMatchObject({
      id: '9001',
      linkedin_url: 'https://linkedin.com/company/acme',
      hq: { city: 'Hampton', region: 'Virginia', country_code: 'US' },
      sic: ['3761'],
      naics: ['336414'],
      updated_at: '2026-05-01T12:30:00Z',
    });
    expect((await stored({ Website: 'acme.example', Type: 'Nonprofit' }, 'companies')).record).toMatchObject({ type: 'nonprofit' });
    expect(
      (
        await stored({
          Email: 'ada@acme.example',
          'Company Linkedin Url': 'https://linkedin.com/company/acme',
          'Corporate Phone': '020 7946 0000',
          'Company State': 'Kent',
        })
      ).companies,
    ).toMatchObject([{ linkedin_url: 'https://linkedin.com/company/acme', phone: '020 7946 0000', hq: { region: 'Kent' } }]);
  });

  it('a column with the domain of an address names no employer when that domain is a mailbox provider', async () => {
    expect((await stored({ Email: 'ann@gmail.com', 'Email Domain': 'gmail.com' })).record).not.toHaveProperty('company_domain');
    expect((await stored({ Email: 'ann@gmail.com', 'Email Domain': 'gmail.com', Company: 'Anns' })).record).toMatchObject({
      company_name: 'Anns',
    });
    expect((await stored({ Email: 'ann@acme.example', Website: 'gmail.com' })).record).toMatchObject({ company_domain: 'gmail.com' });
    expect((await stored({ Email: 'ann@acme.example', 'Email Domain': 'acme.example' })).record).toMatchObject({
      company_domain: 'acme.example',
    });
  });
});

describe('cells', () => {
  it('joined addresses and numbers are split: the first valid one is the main one', async () => {
    const joined = (items: readonly string[]) => fc.constantFrom('; ', ';', ' | ', ', ', '\n').map((separator) => items.join(separator));
    await fc.assert(
      fc.asyncProperty(
        joined(['n/a', 'Ada <ada@acme.example>', 'mailto:b@acme.example', 'ADA@acme.example']),
        joined(['none', '+12125550100', '+12125550101']),
        async (email, mobile) => {
          expect(await stored({ Email: email, Mobile: mobile })).toMatchObject({
            record: {
              email: 'ada@acme.example',
              emails: [{ email: 'b@acme.example' }],
              mobile: '+12125550100',
              phones: [{ number: '+12125550101' }],
            },
            dropped: {},
          });
        },
      ),
      { numRuns: casesOf(8, 25) },
    );
    expect((await stored({ Email: 'ada@acme.example', 'Work Email': 'b@acme.example; c@acme.example' })).record).toMatchObject({
      emails: [{ email: 'b@acme.example' }, { email: 'c@acme.example' }],
    });
    // A quoted value may contain a separator. Without a valid part, or with too many, the cell is dropped.
    expect((await stored({ Email: '"a;b"@acme.example' })).record).toMatchObject({ email: '"a;b"@acme.example' });
    for (const email of ['n/a; none', Array.from({ length: 60 }, (_, n) => `p${n}@acme.example`).join(';')]) {
      const store = await emptyStore();
      expect((await load(store, [['Email'], [email]])).counts.rejected).toEqual({ bad_email: 1 });
      store.close();
    }
  });

  it('a cell with an apostrophe against formulas is stored without it', async () => {
    const text = fc
      .tuple(fc.constantFrom('', "'", "''"), fc.constantFrom('+', '=', '-', '@', '＝', 'O', '1', '"'), fc.constantFrom('1', 'Brien', 'x'))
      .map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(text, async (title) => {
        expect((await stored({ Email: 'ada@acme.example', Title: guardFormula(title) })).record).toMatchObject({ title });
      }),
      { numRuns: casesOf(15, 50) },
    );
    expect((await stored({ Email: 'ada@acme.example', Mobile: "'+12125550100" })).record).toMatchObject({ mobile: '+12125550100' });
  });

  it.each([
    ['+44 (0)20 7946 0123', '+442079460123'],
    ['0049 (0) 30/123456', '+4930123456'],
    ['+1 (212) 555-0100', '+12125550100'],
    ['+39 06 1234567', '+39061234567'],
    ['+39 (0)6 1234567', '+39061234567'],
    ['00378 (0)549 882345', '+3780549882345'],
    ['(0)20 7946 0123', undefined],
    ['020 7946 0123', undefined],
  ])('the number %s is stored as %s', (text, number) => {
    expect(phoneOf(text)).toBe(number);
  });
});
