import { expect, test } from 'vitest';
import { bytesBefore, expectedRecords } from '../../src/checkpoint/expected-records.ts';
import type { InputFile, InputManifest } from '../../src/formats/input-record.ts';

const file = (rows: number, size: number): InputFile => ({
  uri: 'a.parquet',
  path: '/a.parquet',
  size,
  digest: '',
  compression: 'none',
  encoding: 'utf-8',
  delimiter: null,
  header: ['email'],
  keys: { email: 'email', domain: null, linkedin_url: null },
  start: { file: 0, line: 1, offset: 0, frame: null },
  rows,
});
const manifest: InputManifest = {
  format: 'parquet',
  files: [file(100, 4_000), file(50, 2_000)],
  columns: ['email'],
  keyName: { email: 'email', domain: null, linkedin_url: null },
};
const at = { file: 1, line: 26, offset: 25, frame: null };

test('the rows of Parquet files are known before they are read', () => {
  const job = { manifest, retry: null, shard: null };
  const seen = { records: 125, upTo: at, isAll: false };
  expect(expectedRecords(job, { ...seen, limit: null })).toEqual({ records: 150, isExact: true });
  expect(expectedRecords(job, { ...seen, limit: 130 })).toEqual({ records: 130, isExact: true });
  expect(expectedRecords(job, { records: 0, upTo: null, isAll: false, limit: 1_000 })).toEqual({ records: 150, isExact: true });
  expect(bytesBefore(manifest, at)).toBe(5_000);
});
