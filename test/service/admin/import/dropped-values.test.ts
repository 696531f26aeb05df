import { expect, it } from 'vitest';
import { describeDropped } from '../../../../src/service/admin/import/dropped-values.ts';

it('the message about dropped lists and places names what a table can hold of them', () => {
  const sentence = (kind: 'contacts' | 'companies', field: string): string =>
    describeDropped(kind, { dropped: { [field]: 1 }, firstDropped: new Map([[field, 2]]) }).join('\n');
  // Its parts have columns of their own.
  for (const [kind, field] of [
    ['contacts', 'location'],
    ['contacts', 'company.hq'],
    ['companies', 'hq'],
  ] as const)
    expect(sentence(kind, field)).toMatch(/it takes a city, a country .*texts of 10,000 characters at most/);
  for (const [kind, field] of [
    ['contacts', 'education'],
    ['companies', 'technologies'],
    ['contacts', 'company.funding'],
  ] as const)
    expect(sentence(kind, field)).toMatch(/which only JSON lines have$/);
  expect(sentence('contacts', 'company.hq.lat')).toMatch(/it takes a number$/);
  expect(sentence('companies', 'employees_by_department.*')).toMatch(/it takes a number for each name$/);
  expect(sentence('companies', 'linkedin_url')).toMatch(/it takes the address of the company's page/);
  for (const field of ['title', 'skills'])
    expect(sentence('contacts', field)).toMatch(/e-mail addresses and numbers with their country are cut out of texts$/);
  for (const field of ['skills', 'emails', 'phones', 'company.domain_aliases'])
    expect(sentence('contacts', field)).toMatch(/1,000 at most/);
});

it('the message lists unknown names, except columns that have a message of their own', () => {
  const dropped = { salary: 3, 'education.note': 2, Note: 1, ...Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`x${n}`, 1])) };
  const told = describeDropped('contacts', { dropped, firstDropped: new Map(Object.keys(dropped).map((name) => [name, 7])) }, ['Note']);
  expect(told).toEqual([
    expect.stringMatching(
      /^left out, for there is no such field: "salary" \(3, line 7\), "education.note" \(2, line 7\), "x0" \(1, line 7\).* and 7 more$/,
    ),
  ]);
});
