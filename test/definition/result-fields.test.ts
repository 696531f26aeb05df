import * as fc from '../support/fast-check.ts';
import { expect, test } from 'vitest';
import { checkPath, RESULT_FIELDS } from '../../src/definition/result-fields.ts';
import { RECORD_FIELDS } from '../../src/service/records/whole-record.ts';
import { COMPANY_FIELDS } from '../../src/service/records/company-fields.ts';
import { suppressedResult } from '../../src/service/records/suppressed-result.ts';

test('the known fields equal the fields that the service answers', () => {
  const sorted = (names: readonly string[] | undefined): string[] => (names ?? []).toSorted();
  for (const person of ['enrich', 'reveal']) {
    expect(sorted(RESULT_FIELDS[person])).toEqual(sorted(RECORD_FIELDS));
    expect(sorted(RESULT_FIELDS[`${person}.company`])).toEqual(sorted(COMPANY_FIELDS));
  }
  expect(sorted(RESULT_FIELDS['company'])).toEqual(sorted(COMPANY_FIELDS));
  const verdict = suppressedResult('a@b.example', 0);
  expect(sorted(RESULT_FIELDS['verify'])).toEqual(sorted(Object.keys(verdict)));
  expect(sorted(RESULT_FIELDS['verify.domain'])).toEqual(sorted(Object.keys(verdict.domain)));
  for (const flag of Object.keys(verdict.flags)) expect(RESULT_FIELDS['verify.flags']).toContain(flag);
});

const paths = Object.entries(RESULT_FIELDS).flatMap(([object, fields]) => fields.map((field) => `${object}.${field}`));

test('each known path is accepted, and each misspelt one is refused with a known path', () => {
  for (const path of paths) expect([path, checkPath(path).field]).toEqual([path, 'known']);
  fc.assert(
    fc.property(fc.constantFrom(...paths), fc.nat(), fc.constantFrom('swap', 'drop', 'double'), (path, seed, slip) => {
      const at = path.lastIndexOf('.') + 1;
      const field = path.slice(at);
      fc.pre(field.length > 3);
      const i = seed % (field.length - 1);
      const wrong =
        slip === 'swap'
          ? field.slice(0, i) + field[i + 1] + field[i] + field.slice(i + 2)
          : slip === 'drop'
            ? field.slice(0, i) + field.slice(i + 1)
            : field.slice(0, i) + field[i] + field.slice(i);
      const mistyped = path.slice(0, at) + wrong;
      fc.pre(!paths.includes(mistyped));
      const { field: verdict, suggestion } = checkPath(mistyped);
      expect([mistyped, verdict]).toEqual([mistyped, 'misspelt']);
      expect(paths).toContain(suggestion);
    }),
  );
});

test('an unknown field of a known object is refused, and other objects accept any field', () => {
  expect(checkPath('enrich.titel')).toEqual({ step: 'enrich', field: 'misspelt', suggestion: 'enrich.title' });
  expect(checkPath('enrich.company.hq.city')).toEqual({ step: 'enrich', field: 'known', suggestion: null });
  expect(checkPath('enrich.compnay.name').suggestion).toBe('enrich.company.name');
  expect(checkPath('verify.flags.rol').suggestion).toBe('verify.flags.role');
  expect(checkPath('enrihc.title')).toEqual({ step: null, field: 'no_path', suggestion: 'enrich.title' });
  expect(checkPath('title')).toEqual({ step: null, field: 'no_path', suggestion: 'enrich.title' });
  expect(checkPath('result.did_you_mean')).toEqual({ step: null, field: 'known', suggestion: null });
  expect(checkPath('result.outcom').suggestion).toBe('result.outcome');
  expect(checkPath('enrich.crm_score_2026')).toEqual({ step: 'enrich', field: 'unknown', suggestion: null });
  expect(checkPath('verify')).toMatchObject({ field: 'no_path' });
});
