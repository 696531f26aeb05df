import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { explainRecordError, RECORD_ERRORS, recordErrorRows } from '../../../src/job/report/record-errors.ts';

test('docs/exit-codes.md has the table of record errors as the report shows it', () => {
  const page = readFileSync(new URL('../../../docs/exit-codes.md', import.meta.url), 'utf8');
  const rows = page.slice(page.indexOf('# Errors of records')).match(/^\| `.*$/gm);
  expect(rows).toEqual(recordErrorRows());
});

test('every code is explained once', () => {
  const codes = RECORD_ERRORS.flatMap((error) => error.codes);
  expect(new Set(codes).size).toBe(codes.length);
});

test.each([
  ['http_502', 'http_5xx'],
  ['http_418', 'http_4xx'],
  ['http_503', 'http_503'],
])('%s is explained as %s', (code, as) => {
  expect(explainRecordError(code)).toBe(RECORD_ERRORS.find(({ codes }) => codes.includes(as)));
});

test('a code of the service itself leads to its documentation', () => {
  for (const code of ['lead_not_ripe', 'constructor', 'http_5000', ''])
    expect(explainRecordError(code).what).toBe('a code of the service itself');
});
