import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ALIASES, plainName } from '../../../src/reader/aliases.ts';
import { companyOf, contactOf } from '../../../src/service/import/contact.ts';
import { readerOf } from '../../../src/service/import/row-values.ts';
import type { SparseRecord } from '../../../src/service/records.ts';

/** Names of targets, other names of the same, and names that only look like one. */
const NAMES = ['id', 'email', 'Email', 'Personal Email', 'mobile', 'Work Phone', 'phones', 'emails', 'name', 'full name', 'title', 'Job Title', 'company', 'company_domain', 'domain', 'company.name', 'company.employees', 'employees', 'location', 'location.city', 'city', 'state', 'country', 'verified', 'enrich.title', 'updated_at', 'hq', 'hq.city', '__proto__', 'toString'];
/** Means nothing: a row that has it is put together value by value. */
const UNKNOWN = 'no such column';

const value = fc.oneof(fc.constantFrom(null, '', 'Ada', '+12125550100', 'acme.example', 'ada@acme.example', 'DE', 'true', 7, []), fc.record({ name: fc.constant('Acme'), city: fc.constantFrom('Ulm', null) }));
const row = fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), value), { selector: ([name]) => name }).map((members) => JSON.parse(`{${members.map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`).join(',')}}`) as SparseRecord);

it('a row says the same whether its values are taken as they are or one by one', () => {
  const [contacts, companies] = [readerOf('contacts', new Map(), ALIASES, plainName), readerOf('companies', new Map(), ALIASES, plainName)];
  fc.assert(
    fc.property(row, (given) => {
      // Whoever reads an object may change it.
      const own = (): Record<string, unknown> => structuredClone(given);
      const slowly = (): Record<string, unknown> => ({ ...own(), [UNKNOWN]: 1 });
      expect(contactOf(contacts.readObject(own()))).toEqual(contactOf(contacts.readObject(slowly())));
      expect(companyOf(companies.readObject(own()).values)).toEqual(companyOf(companies.readObject(slowly()).values));
      // One with a field that says nothing is put together field by field.
      const values = companies.readObject(own()).values;
      expect(JSON.stringify(companyOf({ ...values, ticker: '' }))).toBe(JSON.stringify(companyOf(values)));
    }),
    { numRuns: 5_000 },
  );
});

it('a row has no field from what it says its prototype is', () => {
  const company = JSON.parse('{"domain":"acme.example","hq.city":"Ulm","hq":{"__proto__":{"region":"none"}},"__proto__":{"id":"not its own"}}') as SparseRecord;
  const record = companyOf(company) ?? {};
  expect([record['id'], (record['hq'] as SparseRecord)['region']]).toEqual([undefined, undefined]);
  expect(record).toMatchObject({ domain: 'acme.example', hq: { city: 'Ulm' } });
});
