import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { companyOf, contactOf } from '../../../../src/service/admin/import/contact.ts';
import { rowMapperOf } from '../../../../src/service/admin/import/map-row.ts';
import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';

/** Names of targets, their synonyms, and names that only look similar. */
const NAMES = [
  'id',
  'email',
  'Email',
  'Personal Email',
  'mobile',
  'Work Phone',
  'phones',
  'emails',
  'name',
  'full name',
  'title',
  'Job Title',
  'company',
  'company_domain',
  'domain',
  'company.name',
  'company.employees',
  'employees',
  'location',
  'location.city',
  'city',
  'state',
  'country',
  'verified',
  'enrich.title',
  'updated_at',
  'hq',
  'hq.city',
  '__proto__',
  'toString',
];
/** An unknown name: its row takes the general path. */
const UNKNOWN = 'no such column';

const value = fc.oneof(
  fc.constantFrom(null, '', 'Ada', '+12125550100', 'acme.example', 'ada@acme.example', 'DE', 'true', 7, []),
  fc.record({ name: fc.constant('Acme'), city: fc.constantFrom('Ulm', null) }),
);
const row = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...NAMES), value), { selector: ([name]) => name })
  .map(
    (members) =>
      JSON.parse(`{${members.map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`).join(',')}}`) as SparseRecord,
  );

it('a row has the same values on the fast path and on the general path', () => {
  const [contacts, companies] = [rowMapperOf('contacts', new Map()), rowMapperOf('companies', new Map())];
  fc.assert(
    fc.property(row, (given) => {
      // A reader may change the object.
      const own = (): Record<string, unknown> => structuredClone(given);
      const slowly = (): Record<string, unknown> => ({ ...own(), [UNKNOWN]: 1 });
      expect(contactOf(contacts.mapObject(own()))).toEqual(contactOf(contacts.mapObject(slowly())));
      expect(companyOf(companies.mapObject(own()).values)).toEqual(companyOf(companies.mapObject(slowly()).values));
      // A row with an unknown field takes the general path.
      const values = companies.mapObject(own()).values;
      expect(JSON.stringify(companyOf({ ...values, ticker: '' }))).toBe(JSON.stringify(companyOf(values)));
    }),
    { numRuns: 5_000 },
  );
});

it('a member named __proto__ adds no field to a row', () => {
  const company = JSON.parse(
    '{"domain":"acme.example","hq.city":"Ulm","hq":{"__proto__":{"region":"none"}},"__proto__":{"id":"not its own"}}',
  ) as SparseRecord;
  const record = companyOf(company) ?? {};
  expect([record['id'], (record['hq'] as SparseRecord)['region']]).toEqual([undefined, undefined]);
  expect(record).toMatchObject({ domain: 'acme.example', hq: { city: 'Ulm' } });
});
