import { describe, expect, it } from 'vitest';
import * as fc from '../support/fast-check.ts';
import { fill, hasAll, ofOne } from '../../src/processor/merge-records.ts';
import { hasValue } from '../../src/util/has-value.ts';

const value = fc.oneof(
  fc.constantFrom(null, '', [], {}, { inner: null }, { city: '' }),
  fc.string({ minLength: 1 }),
  fc.integer(),
  fc.boolean(),
  fc.array(fc.string(), { minLength: 1 }),
);
const company = fc.dictionary(fc.constantFrom('name', 'domain', 'employees', 'stack'), value);
const record = fc
  .record(
    {
      email: fc.option(fc.constantFrom('a@b.example', 'c@d.example', ''), { nil: null }),
      verified: fc.option(fc.boolean(), { nil: null }),
      email_status: fc.option(fc.constantFrom('valid', ''), { nil: null }),
      title: value,
      name: value,
      phones: value,
      company: fc.option(company, { nil: null }),
    },
    { requiredKeys: [] },
  )
  .map((fields) => fields as Record<string, unknown>);

const at = (of: Readonly<Record<string, unknown>>, path: string): unknown =>
  path.split('.').reduce<unknown>((found, part) => (found as Record<string, unknown> | null | undefined)?.[part], of);

describe('the merge of the records of several providers', () => {
  it('has each field as the provider that its source names gave it', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 4 }), (records) => {
        const [first = {}, ...others] = records;
        const merged = others.reduce((before, next, index) => fill(before, next, `p${index + 1}`), ofOne(first, 'p0'));
        for (const [path, provider] of Object.entries(merged.sources)) {
          expect(hasValue(at(merged.record, path))).toBe(true);
          expect(at(merged.record, path)).toEqual(at(records[Number(provider.slice(1))] ?? {}, path));
        }
      }),
    );
  });

  it('takes each field from the first provider that has it, but what belongs to an address from the provider of the address', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 4 }), (records) => {
        const [first = {}, ...others] = records;
        const merged = others.reduce((before, next, index) => fill(before, next, `p${index + 1}`), ofOne(first, 'p0'));
        const firstWith = (path: string): number => records.findIndex((one) => hasValue(at(one, path)));
        for (const path of ['email', 'title', 'name', 'phones', 'company.name', 'company.employees']) {
          const index = firstWith(path);
          expect(merged.sources[path]).toBe(index === -1 ? undefined : `p${index}`);
        }
        const owner = firstWith('email');
        if (owner !== -1)
          for (const field of ['verified', 'email_status'])
            expect([undefined, `p${owner}`]).toContain(hasValue(records[owner]?.[field]) ? merged.sources[field] : merged.sources['email']);
      }),
    );
  });

  it('does not call an address verified that another provider has verified', () => {
    const merged = fill(ofOne({ name: 'Ada', verified: false }, 'a'), { email: 'ada@acme.example', verified: true }, 'b');
    expect(merged.record).toEqual({ name: 'Ada', email: 'ada@acme.example', verified: true });
    expect(fill(merged, { email: 'x@acme.example', verified: false, email_status: 'invalid' }, 'c')).toEqual(merged);
  });

  it('takes nothing that belongs to an address from a provider that has another address or none', () => {
    const merged = fill(ofOne({ name: 'Ada', email: null, verified: false }, 'a'), { email: 'ada@acme.example', verified: null }, 'b');
    expect(merged).toEqual({ record: { name: 'Ada', email: 'ada@acme.example', verified: null }, sources: { name: 'a', email: 'b' } });
    expect(fill(ofOne({ verified: true }, 'a'), { email: 'ada@acme.example' }, 'b').record).toEqual({ email: 'ada@acme.example' });
  });

  it('knows whether all wanted fields have a value, also within the company', () => {
    const one = { email: 'ada@acme.example', title: '', company: { name: 'Acme', stack: [] } };
    expect(hasAll(one, [])).toBe(true);
    expect(hasAll(one, ['email', 'company.name'])).toBe(true);
    expect(hasAll(one, ['title'])).toBe(false);
    expect(hasAll(one, ['company.stack'])).toBe(false);
    expect(hasAll(one, ['email.constructor'])).toBe(false);
  });
});
