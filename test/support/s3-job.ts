/** A job whose files all lie in S3, behind a proxy that counts requests and injects faults. Used by test/crash and bench/crash.ts. */
import { rm, writeFile } from 'node:fs/promises';
import { unpackAnswers } from '../../src/ledger/s3/segment.ts';
import { s3Environment, type TestBucket } from '../s3/bucket.ts';
import type { FaultProxy, Fault, Relayed } from '../services/fault-proxy.ts';
import type { Facts } from '../services/needed.ts';
import type { Ended, Folder, Started } from './cli.ts';
import { EVERY_MS, resultOf, type Job } from './crash-jobs.ts';
import { namesOf } from './crash-site.ts';
import type { ScriptedService } from './scripted-service.ts';

export interface S3Site {
  readonly server: Facts;
  readonly bucket: TestBucket;
  readonly proxy: FaultProxy;
  readonly folder: Folder;
  readonly service: ScriptedService;
  /** The prefix of the job's keys in the bucket. */
  readonly prefix: string;
}

/** The folder of a run's working copy of the ledger. A machine has nothing else of the job. */
const SCRATCH = 'scratch';
/** The ledger consists of one object for each start, so their number says nothing about a job. */
const LEDGER = 'ledger/';

/** The command for a job of `crash-jobs.ts` with its input, output and ledger in S3. */
export function s3Args({ bucket, prefix, service }: S3Site, job: Job, more: Readonly<Record<string, string>> = {}): string[] {
  const at = (name: string): string => `s3://${bucket.name}/${prefix}${name}`;
  const flags = {
    plan: 'enterprise',
    progress: 'none',
    'checkpoint.everyMs': String(EVERY_MS),
    'max-errors': '100%',
    ...job.flags,
    input: at(job.flags['input'] ?? ''),
    output: at(job.output),
    ledger: at(LEDGER.slice(0, -1)),
    scratch: SCRATCH,
    'base-url': service.url,
    ...more,
  };
  return ['run', ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value])];
}

export async function putInput({ bucket, prefix }: S3Site, job: Job): Promise<void> {
  for (const [name, content] of Object.entries(job.files)) await bucket.put(prefix + name, content);
}

export function start({ folder, server, proxy }: S3Site, args: readonly string[]): Started {
  return folder.start(args, { env: s3Environment(server, proxy.url) });
}

/** All objects of the job by name without the prefix, except its input and the ledger. */
export async function objects({ bucket, prefix }: S3Site, job: Job): Promise<Map<string, Buffer>> {
  const keys = (await bucket.names(prefix)).filter((key) => !(key.slice(prefix.length) in job.files) && !key.startsWith(prefix + LEDGER));
  return new Map(
    await Promise.all(keys.map(async (key) => [key.slice(prefix.length), (await bucket.get(key)) ?? Buffer.alloc(0)] as const)),
  );
}

/** The counterpart of `resultOf` for a job in S3. */
export async function resultIn(site: S3Site, job: Job): ReturnType<typeof resultOf> {
  for (const [name, bytes] of await objects(site, job)) await writeFile(site.folder.at(name), bytes);
  const result = JSON.stringify(await resultOf(site.folder, job));
  return JSON.parse(result.replaceAll(`s3://${site.bucket.name}/${site.prefix}`, '')) as Awaited<ReturnType<typeof resultOf>>;
}

type Request = Omit<Relayed, 'fault' | 'bytes' | 'sent' | 'answered'>;

export function changes({ method }: Pick<Relayed, 'method'>): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

/** Moves the job to another machine for the next run. */
export async function moveOn({ folder }: S3Site): Promise<void> {
  await rm(folder.at(SCRATCH), { recursive: true, force: true });
}

/** Kills the run at the nth matching request: before S3 has it, or after S3 has executed it and before its answer arrives. */
export async function killedAt(
  site: S3Site,
  args: readonly string[],
  isStep: (request: Request) => boolean,
  nth: number,
  done: boolean,
): Promise<Ended> {
  let seen = 0;
  const started = start(site, args);
  site.proxy.faultFor = (request): Fault | null => {
    if (!isStep(request) || ++seen !== nth) return null;
    if (done) return { kind: 'lost', whenDone: () => started.kill('SIGKILL') };
    started.kill('SIGKILL');
    return { kind: 'reset' };
  };
  const ended = await started.ended;
  site.proxy.faultFor = () => null;
  return ended;
}

/** The lookups in the ledger in S3, as `enrich ana@works.example`. */
export async function durableIn({ bucket, prefix }: S3Site): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const key of await bucket.names(prefix + LEDGER)) {
    const parts = await unpackAnswers((await bucket.get(key)) ?? Buffer.alloc(0), key);
    for (const {
      scope: [, step],
      key: asked,
    } of parts.flatMap(({ answers }) => answers))
      names.add(`${step} ${asked}`);
  }
  return names;
}

/**
 * Kills runs, each `stride` requests further than the one before, until one finishes. Every second run is on another machine. @returns the
 * number of kills, and lookups that were repeated although S3 had their answers
 */
export async function killStepByStep(
  site: S3Site,
  args: readonly string[],
  isStep: () => (request: Request) => boolean,
  first: number,
  stride: number,
): Promise<{ kills: number; paidTwice: string[] }> {
  const paidTwice: string[] = [];
  for (let nth = first, kills = 0; ; nth += stride, kills++) {
    const [durable, before] = [await durableIn(site), site.service.requests.length];
    if (kills % 2 === 1) await moveOn(site);
    const { code, signal, stderr } = await killedAt(site, args, isStep(), nth, Math.floor(kills / 2) % 2 === 1);
    paidTwice.push(
      ...site.service.requests
        .slice(before)
        .flatMap(namesOf)
        .filter((name) => durable.has(name)),
    );
    if (code === 0 || paidTwice.length > 0) return { kills, paidTwice };
    if (signal !== 'SIGKILL') throw new Error(`a run ended with ${code}:\n${stderr}`);
  }
}
