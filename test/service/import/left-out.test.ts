import { expect, it } from 'vitest';
import { leftOut } from '../../../src/service/import/left-out.ts';

it('says of lists and places what a table can hold of them', () => {
  const sentence = (kind: 'contacts' | 'companies', field: string): string => leftOut(kind, { dropped: { [field]: 1 }, firstDropped: new Map([[field, 2]]) }).join('\n');
  // Parts of it have columns of their own.
  for (const [kind, field] of [['contacts', 'location'], ['contacts', 'company.hq'], ['companies', 'hq']] as const) expect(sentence(kind, field)).toMatch(/it takes a city, a country .*texts of 10,000 characters at most/);
  for (const [kind, field] of [['contacts', 'education'], ['companies', 'technologies'], ['contacts', 'company.funding']] as const) expect(sentence(kind, field)).toMatch(/which only JSON lines have$/);
  for (const field of ['skills', 'emails', 'phones', 'company.domain_aliases']) expect(sentence('contacts', field)).toMatch(/1,000 at most/);
});
