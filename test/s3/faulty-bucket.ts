/** A bucket of a file's own, behind a proxy that breaks what a test tells it to break. Before each test it breaks nothing, and has counted nothing. */
import { afterAll, beforeEach } from 'vitest';
import type { S3Access } from '../../src/s3/objects.ts';
import type { Patience } from '../../src/s3/patience.ts';
import { FaultProxy } from '../services/fault-proxy.ts';
import type { Facts } from '../services/needed.ts';
import { clientOf, makeBucket, s3Environment, type TestBucket } from './bucket.ts';

export interface FaultyBucket {
  readonly bucket: TestBucket;
  readonly proxy: FaultProxy;
  /** Leads a process's SDK to the proxy. */
  readonly env: Record<string, string>;
  readonly at: (key: string) => string;
  /** Through the proxy, in this process. */
  readonly access: (patience: Patience) => S3Access;
}

/** To be called within a `describe`. */
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
    access: (patience) => ({ client: clientOf(server, proxy.url), patience }),
  };
}
