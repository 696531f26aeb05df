import { expect, test } from 'vitest';
import { unshownFields } from '../../src/writer/result-columns.ts';
import { jobOf } from '../support/provider-jobs.ts';

const of = (until: readonly string[], flags: Readonly<Record<string, string>> = {}): readonly string[] =>
  unshownFields(jobOf({ steps: [{ enrich: { from: ['a', 'b'], until } }], providers: { a: {}, b: {} }, flags }));

test('fields that until buys and no column shows are named, for a table with the standard columns', () => {
  expect(of(['email', 'mobile', 'company.name', 'company.phone'])).toEqual(['enrich.mobile', 'enrich.company.phone']);
  expect(of(['email', 'company'])).toEqual([]);
});

test('a configured column shows its field, and JSON lines show every field', () => {
  expect(of(['mobile', 'title'], { 'output.fields.Mobile': 'enrich.mobile' })).toEqual(['enrich.title']);
  expect(of(['mobile'], { output: 'out.jsonl' })).toEqual([]);
});
