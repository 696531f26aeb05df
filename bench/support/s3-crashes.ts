/** The jobs of `bench/crash.ts` in S3, on a real server: killed around random requests that change something there. */
import { randomUUID } from 'node:crypto';
import { makeBucket } from '../../test/s3/bucket.ts';
import { FaultProxy } from '../../test/services/fault-proxy.ts';
import { startRadosgw } from '../../test/services/radosgw.ts';
import { Folder } from '../../test/support/cli.ts';
import { fail, SHAPES, type Job } from '../../test/support/crash-jobs.ts';
import { leads, seeded } from '../../test/support/leads.ts';
import { changes, killedAt, moveOn, objects, putInput, resultIn, s3Args, start, type S3Site } from '../../test/support/s3-job.ts';
import { ScriptedService } from '../../test/support/scripted-service.ts';
import { machine } from './processes.ts';

const KILLS = 8;
/** Slightly fewer than a run of these jobs makes. */
const MOST_REQUESTS = 25;
const COLUMNS = ['kills', 'resumes', 'outputs, errors files, reports that differ', 'objects left', 'uploads left'];

/** Sets the exit code to 1 when a result differs. */
export async function crashInS3(rounds: number, seed: number): Promise<void> {
  const server = await startRadosgw();
  if (typeof server === 'string') throw new Error(server);
  const proxy = await FaultProxy.start(server.facts['endpoint'] ?? '');
  const random = seeded(seed);
  try {
    const bucket = await makeBucket(server.facts);
    const site = async (faults: boolean): Promise<S3Site> => {
      const [folder, service] = await Promise.all([Folder.make(), ScriptedService.start()]);
      service.latencyMs = 2;
      if (faults) fail(service);
      return { server: server.facts, bucket, proxy, folder, service, prefix: `${randomUUID()}/` };
    };
    process.stdout.write(
      `rounds: ${rounds}, seed ${seed}; ${machine()}\n\n| job in S3 | ${COLUMNS.join(' | ')} |\n|---|${'---:|'.repeat(COLUMNS.length)}\n`,
    );
    for (const shape of SHAPES) {
      const row = { kills: 0, resumes: 0, differ: 0, objects: 0, uploads: 0 };
      for (let round = 0; round < rounds; round++) {
        const job = shape.job(leads(shape.rows.short, seed + round));
        const expected = await outcome(await site(false), job, async () => undefined);
        const found = await outcome(await site(shape.faults), job, async (one, args) => {
          for (let i = 0; i < KILLS; i++, row.resumes++) {
            const { signal } = await killedAt(one, args, changes, 1 + Math.floor(random() * MOST_REQUESTS), random() < 0.5);
            if (signal !== 'SIGKILL') break;
            row.kills++;
            if (random() < 0.5) await moveOn(one);
          }
        });
        if (found.result !== expected.result) row.differ++;
        row.objects += found.names.length - expected.names.length;
        row.uploads += (await bucket.uploads()).length;
      }
      process.stdout.write(`| ${shape.name} | ${Object.values(row).join(' | ')} |\n`);
      if (row.differ + row.objects + row.uploads > 0) process.exitCode = 1;
    }
  } finally {
    await proxy.stop();
    await server.end();
  }
}

async function outcome(
  site: S3Site,
  job: Job,
  before: (site: S3Site, args: readonly string[]) => Promise<void>,
): Promise<{ result: string; names: readonly string[] }> {
  try {
    await putInput(site, job);
    const args = s3Args(site, job);
    await before(site, args);
    const { code, stderr } = await start(site, args).ended;
    if (code !== 0) throw new Error(`a run ended with ${code}:\n${stderr}`);
    return { result: JSON.stringify(await resultIn(site, job)), names: [...(await objects(site, job)).keys()] };
  } finally {
    await Promise.all([site.folder.remove(), site.service.stop()]);
  }
}
