import { expect, test } from 'vitest';
import { ledgerRights } from '../../../src/job/lifecycle/ledger-rights.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';
import { compiled, LEAST } from '../../definition/support.ts';

const SHARD = { index: 2, of: 4, from: null, before: 0, records: 0 };

test('shards are one run to a ledger file, and to Redis and S3 each is one of its own, whose claims and objects are its own', () => {
  const runOf = (ledger: string, shard: typeof SHARD | null): unknown => {
    const { run, shared } = ledgerRights(compiled({ flags: { ...LEAST, ledger } }), { ...CHECKPOINT, run: 'r', shard });
    return [run, shared];
  };
  expect(runOf('a.ledger', null)).toEqual(['r', false]);
  expect(runOf('a.ledger', SHARD)).toEqual(['r', true]);
  expect(runOf('redis://localhost:6379/0', SHARD)).toEqual(['r-2', true]);
  expect(runOf('s3://bucket/a', SHARD)).toEqual(['r-2', true]);
  expect(runOf('s3://bucket/a', null)).toEqual(['r', false]);
});
