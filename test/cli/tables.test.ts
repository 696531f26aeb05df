import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { recordTable, verdictTable } from '../../src/cli/tables.ts';
import type { OneOffResult } from '../../src/job/commands/one-off.ts';

const result = (record: Record<string, unknown> | null, rest: Partial<OneOffResult> = {}): OneOffResult => ({
  key: { place: 1, text: 'jane@acme.example' },
  outcome: record === null ? 'failed' : 'matched',
  error: record === null ? 'http_500' : null,
  answer: record === null ? null : { record, text: '' },
  ...rest,
});

it('the table of a record has one line per field that has a value', () => {
  const record = {
    name: 'Jane',
    title: null,
    company: { name: 'Acme', stack: ['a', 'b'], hq: {} },
    skills: [],
    bio: 'x'.repeat(500),
    verified: false,
  };
  expect(recordTable(result(record))).toBe(
    [
      'jane@acme.example',
      '  name           Jane',
      '  company.name   Acme',
      '  company.stack  a, b',
      `  bio            ${'x'.repeat(160)}...`,
      '  verified       false',
    ].join('\n'),
  );
});

it('the table of a key without a record gives the reason', () => {
  expect(recordTable(result(null))).toBe('jane@acme.example   failed (http 500)');
  expect(recordTable(result(null, { outcome: 'no_match', error: null }))).toBe('jane@acme.example   nothing is known');
  expect(verdictTable(result(null, { key: { place: 3, text: null }, outcome: 'invalid', error: 'bad_encoding' }))).toBe(
    'number 3, which is no UTF-8   cannot be looked up (bad encoding)',
  );
});

it('the table of a verdict shows the fields that the service returned', () => {
  expect(verdictTable(result({ result: 'risky', confidence: null, reason: null, checks: [{ name: 7 }], score_factors: 'none' }))).toBe(
    'jane@acme.example   risky',
  );
  expect(
    verdictTable(
      result({
        result: 'deliverable',
        confidence: 97,
        reason: 'accepted',
        checks: [{ name: 'dns', result: 'hosts', detail: null, ms: 12 }],
        score_factors: [{ factor: 'accepted_not_accept_all', points: 97 }],
        score_version: 1,
      }),
    ),
  ).toBe(
    [
      'jane@acme.example   deliverable (accepted), confidence 97',
      '  dns  hosts     12 ms',
      '   +97  the server takes mail for it, and not for just anybody',
      '    97  confidence, 0 to 100 (rules of version 1)',
    ].join('\n'),
  );
});

it('the table shows no control characters, whatever a service sends', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (record, text) => {
      const given = result(record, { key: { place: 1, text } });
      for (const table of [recordTable(given), verdictTable(given)]) expect(table).not.toMatch(/[^\P{C}\n]/u);
    }),
  );
});
