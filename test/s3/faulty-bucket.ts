/** A bucket for one test file, behind a proxy that injects faults. Before each test the proxy has no faults and its counters are 0. */
import { afterAll, beforeEach } from 'vitest';
import type { S3Access } from '../../src/s3/objects.ts';
import type { RetryPolicy } from '../../src/s3/retry.ts';
import { FaultProxy } from '../services/fault-proxy.ts';
import type { Facts } from '../services/needed.ts';
import { clientOf, makeBucket, s3Environment, type TestBucket } from './bucket.ts';

export interface FaultyBucket {
  readonly bucket: TestBucket;
  readonly proxy: FaultProxy;
  /** Points a process's SDK at the proxy. */
  readonly env: Record<string, string>;
  readonly at: (key: string) => string;
  /** Access through the proxy, in this process. */
  readonly access: (retryPolicy: RetryPolicy) => S3Access;
}

/** Call it within a `describe`. */
export async function faultyBucket(server: Facts): Promise<FaultyBucket> {
  const bucket = await makeBucket(server);
  const proxy = await FaultProxy.start(server['endpoint'] ?? '');
  afterAll(() => proxy.stop());
  beforeEach(() => {
    proxy.relayed.length = 0;
    proxy.faultFor = () => null;
  });
  return {
    bucket,
    proxy,
    env: s3Environment(server, proxy.url),
    at: (key) => `s3://${bucket.name}/${key}`,
    access: (retryPolicy) => ({ client: clientOf(server, proxy.url), retryPolicy }),
  };
}
