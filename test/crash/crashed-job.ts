/** Kills jobs, and asserts what no crash may change. */
import { expect } from 'vitest';
import type { Folder } from '../support/cli.ts';
import { killThrough, type Chain, type Moment } from '../support/crash-chain.ts';
import { argsOf, fail, namesIn, resultOf, writeInput, type Job } from '../support/crash-jobs.ts';
import { namesOf } from '../support/crash-site.ts';
import type { Lead } from '../support/leads.ts';
import { requestsIn } from '../support/report-page.ts';
import type { ScriptedService } from '../support/scripted-service.ts';
import { makeFolder, startService } from '../support/world.ts';

export async function prepare(job: Job): Promise<{ folder: Folder; service: ScriptedService; args: string[] }> {
  const [folder, service] = await Promise.all([makeFolder(), startService()]);
  await writeInput(job, folder);
  return { folder, service, args: argsOf(job, service) };
}

/** The result of an undisturbed job: each record once and in order, with a unique name. */
export async function undisturbed(job: Job, rows: readonly Lead[]): ReturnType<typeof resultOf> {
  const { folder, service, args } = await prepare(job);
  expect(await folder.run(args)).toMatchObject({ code: 0, stderr: '' });
  expect(service.repeated).toBe(0);
  expect(await namesIn(folder, job)).toEqual(rows.map(({ cells }) => cells[0]));
  return resultOf(folder, job);
}

/** Ends the job at these moments, lets it finish, and checks it. */
export async function killed(
  job: Job,
  expected: unknown,
  moments: Iterable<Moment>,
  { latencyMs = 0, faults = false } = {},
): Promise<Chain> {
  const { folder, service, args } = await prepare(job);
  service.latencyMs = latencyMs;
  if (faults) fail(service);
  const chain = await killThrough(folder, service, args, job.output, moments);
  await expectUnharmed(job, expected, folder, service, chain);
  return chain;
}

/** Checks a finished job: its result, the paid calls, and that no extra file is left. */
export async function expectUnharmed(job: Job, expected: unknown, folder: Folder, service: ScriptedService, chain: Chain): Promise<void> {
  expect(await resultOf(folder, job)).toEqual(expected);
  // Both lose what a kill has lost.
  const { calls } = (await folder.json(`${job.output}.report.json`)) as { calls: Record<string, number> };
  const made = Object.values(calls).reduce((sum, n) => sum + n, 0);
  expect(requestsIn(await folder.read(`${job.output}.report.html`))).toEqual({ said: made, inTable: made });
  expect(chain.paidTwice).toEqual([]);
  expect(chain.late).toEqual([]);
  expect(chain.repeated).toBeLessThanOrEqual(chain.bound);
  expectSameRequests(service);
  expect((await folder.files()).filter((name) => /\.partial|\.lock|\.tmp$/.test(name))).toEqual([]);
}

/** Checks that a repeated lookup has the same body and the same Idempotency-Key. */
export function expectSameRequests(service: ScriptedService): void {
  const first = new Map<string, string>();
  const different: string[] = [];
  for (const asked of service.requests) {
    const request = `${asked.path} ${asked.idempotencyKey} ${asked.body}`;
    // A company is read with GET.
    if (asked.path === 'company') expect(asked.idempotencyKey).toBeNull();
    else expect(asked.idempotencyKey).toMatch(/./);
    for (const name of namesOf(asked)) {
      const before = first.get(name);
      if (before === undefined) first.set(name, request);
      else if (before !== request) different.push(name);
    }
  }
  expect(different).toEqual([]);
}
