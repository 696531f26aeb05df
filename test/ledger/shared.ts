/** Opens ledgers in a file, in S3 and in Redis, each test in its own location. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { ClaimingLedger, type ClaimingLedgerOptions } from '../../src/ledger/claims/claiming-ledger.ts';
import { silentTeller } from '../../src/ledger/options.ts';
import type { RunLedgerOptions } from '../../src/ledger/open-run-ledger.ts';
import type { LedgerLocation } from '../../src/definition/ledger-location.ts';
import { RedisLedger } from '../../src/ledger/redis/redis-ledger.ts';
import type { RunLedger } from '../../src/ledger/run-ledger.ts';
import { S3Ledger } from '../../src/ledger/s3/s3-ledger.ts';
import { Segments } from '../../src/ledger/s3/segments.ts';
import type { S3Access } from '../../src/s3/objects.ts';
import { clientOf, makeBucket } from '../s3/bucket.ts';
import type { Facts } from '../services/needed.ts';
import type { RedisCluster } from '../services/redis-cluster.ts';

export const START = 1_700_000_000_000;
export const DAY = 86_400_000;
export const QUICK = { attempts: 3, baseMs: 1, capMs: 5, idleMs: 5_000 };

/** One ledger. In S3 and Redis each machine has its own local copy. */
export interface Site {
  readonly place: LedgerLocation;
  open(options?: Partial<RunLedgerOptions> & { readonly machine?: string }): Promise<RunLedger>;
}

export interface SiteKind {
  readonly name: string;
  /** True when several machines can share the ledger. */
  readonly shared: boolean;
  readonly make: () => Promise<Site>;
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function complete(options: Partial<RunLedgerOptions>): RunLedgerOptions {
  return {
    job: 'nightly',
    run: 'run-1',
    maxAgeDays: 0,
    now: () => START,
    since: START,
    maxOutageMs: 30_000,
    keySeed: `seed of ${options.run ?? 'run-1'}`,
    tell: silentTeller,
    ...options,
  };
}

/** Closes the ledger at the end of the test, also after a failure. */
async function closing<T extends RunLedger>(ledger: Promise<T>): Promise<T> {
  const opened = await ledger;
  onTestFinished(() => opened.close().catch(() => undefined));
  return opened;
}

export type FileSiteOptions = Partial<ClaimingLedgerOptions & RunLedgerOptions> & { readonly machine?: string };

export interface FileSite {
  readonly path: string;
  readonly place: LedgerLocation;
  readonly open: (options?: FileSiteOptions) => Promise<RunLedger>;
}

/** A ledger file that several runs use, in this process or in others. */
export function fileSite(path = join(temporaryFolder(), 'answers.ledger')): FileSite {
  const open = ({ machine: _one, ...options }: FileSiteOptions = {}): Promise<RunLedger> => {
    const own = complete(options);
    return closing(Promise.resolve(ClaimingLedger.open({ claimant: own.run, sharedSince: own.since, ...own, path })));
  };
  return { path, place: { kind: 'file', path }, open };
}

export const FILE: SiteKind = { name: 'file', shared: false, make: async () => fileSite() };

export function s3Site(access: S3Access, bucket: string): Site {
  const folder = temporaryFolder();
  const uri = `s3://${bucket}/${randomUUID()}.ledger`;
  return {
    place: { kind: 's3', uri, path: join(folder, 'one') },
    open: ({ machine = 'one', ...options } = {}) =>
      closing(
        S3Ledger.open({ drain: undefined, ...complete(options), path: join(folder, machine), failedBy: 'time' }, Segments.on(access, uri)),
      ),
  };
}

export async function s3Kind(server: Facts): Promise<SiteKind> {
  const bucket = await makeBucket(server);
  return { name: 's3', shared: true, make: async () => s3Site({ client: clientOf(server), retryPolicy: QUICK }, bucket.name) };
}

export function redisSite(uri: string): Site {
  const folder = temporaryFolder();
  return {
    place: { kind: 'redis', uri, path: join(folder, 'one') },
    open: ({ machine = 'one', ...options } = {}) =>
      closing(
        RedisLedger.open(uri, { drain: undefined, abort: undefined, ...complete(options), path: join(folder, machine), failedBy: 'time' }),
      ),
  };
}

export function redisKind(server: Facts): SiteKind {
  return { name: 'redis', shared: true, make: async () => redisSite(await freeDatabase(server)) };
}

/** A Redis cluster has a single database, so it is emptied for each ledger. */
export function clusterKind(started: () => RedisCluster): SiteKind {
  return {
    name: 'redis cluster',
    shared: true,
    make: async () => {
      await started().clear();
      return redisSite(started().uri);
    },
  };
}

/** The URI of a database on the shared server that no other test uses. */
export async function freeDatabase({ host = '', port = '' }: Facts): Promise<string> {
  const client = new Redis(Number(port), host);
  try {
    return `redis://${host}:${port}/${await client.incr('test:databases')}`;
  } finally {
    client.disconnect();
  }
}
