import { expect, test } from 'vitest';
import { unshownFields, unshownFinds } from '../../src/writer/result-columns.ts';
import { jobOf, OPERATIONS } from '../support/provider-jobs.ts';

const of = (until: readonly string[], flags: Readonly<Record<string, string>> = {}): readonly string[] =>
  unshownFields(jobOf({ steps: [{ enrich: { from: ['a', 'b'], until } }], providers: { a: {}, b: {} }, flags }));

test('fields that until buys and no column shows are named, for a table with the standard columns', () => {
  expect(of(['email', 'mobile', 'company.name', 'company.phone'])).toEqual(['enrich.mobile', 'enrich.company.phone']);
  expect(of(['email', 'company'])).toEqual([]);
});

test('fields that definitions find and no column shows are named, except those of until and of a job with columns of its own', () => {
  const record = { email: 'body.e', title: 'body.t', department: 'body.d', company: { name: 'body.c', phone: 'body.p' } };
  const verify = { ...OPERATIONS.verify, record: { email: 'email', result: 'body.result', role: 'body.role' } };
  const found = (until: readonly string[], flags: Readonly<Record<string, string>> = {}): readonly string[] =>
    unshownFinds(
      jobOf({
        steps: [{ enrich: { from: ['a', 'b'], until } }, { verify: { from: ['a'] } }],
        providers: { a: {}, b: {} },
        definitions: { a: { operations: { ...OPERATIONS, enrich: { ...OPERATIONS.enrich, record }, verify } } },
        flags,
      }),
    );
  expect(found([])).toEqual(['enrich.department', 'enrich.company.phone', 'verify.role']);
  expect(found(['department'])).toEqual(['enrich.company.phone', 'verify.role']);
  expect(found([], { 'output.fields.Mail': 'enrich.email' })).toEqual([]);
  expect(found([], { output: 'out.jsonl' })).toEqual([]);
});

test('a configured column shows its field, and JSON lines show every field', () => {
  expect(of(['mobile', 'title'], { 'output.fields.Mobile': 'enrich.mobile' })).toEqual(['enrich.title']);
  expect(of(['mobile'], { output: 'out.jsonl' })).toEqual([]);
});
