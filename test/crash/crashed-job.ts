/** Jobs that the crash tests run, and what of them a crash may not change. */
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect } from 'vitest';
import { readPieces } from '../../src/reader/pieces.ts';
import type { Folder } from '../support/cli.ts';
import { killThrough, type Chain, type Moment } from '../support/crash-chain.ts';
import { toCsv, type Lead } from '../support/leads.ts';
import type { ScriptedService } from '../support/scripted-service.ts';
import { flags, makeFolder, startService } from '../support/world.ts';

export interface Job {
  readonly files: Readonly<Record<string, string>>;
  readonly flags: Readonly<Record<string, string>>;
  readonly output: string;
}

export function csvJob(rows: readonly Lead[], more: Readonly<Record<string, string>> = {}): Job {
  return { files: { 'in.csv': toCsv(rows) }, flags: { input: 'in.csv', ...more }, output: 'out.csv' };
}

export const EVERY_MS = 50;

export function argsOf(job: Job, service: ScriptedService): string[] {
  return ['run', ...flags({ plan: 'enterprise', progress: 'none', 'checkpoint.everyMs': String(EVERY_MS), 'max-errors': '100%', output: job.output, ...job.flags, 'base-url': service.url })];
}

export async function prepare(job: Job): Promise<{ folder: Folder; service: ScriptedService; args: string[] }> {
  const [folder, service] = await Promise.all([makeFolder(), startService()]);
  for (const [name, text] of Object.entries(job.files)) {
    await mkdir(dirname(folder.at(name)), { recursive: true });
    await writeFile(folder.at(name), text);
  }
  return { folder, service, args: argsOf(job, service) };
}

/** What comes of the job when nobody kills it: each record once and in order, known by a name that no other has. */
export async function undisturbed(job: Job, rows: readonly Lead[]): Promise<unknown> {
  const { folder, service, args } = await prepare(job);
  expect(await folder.run(args)).toMatchObject({ code: 0, stderr: '' });
  expect(service.repeated).toBe(0);
  const names = [...(await textOf(folder, job.output)).matchAll(/^(?:\{"input":\{"[Nn]ame":")?((?:Näme|Again) \d+)/gm)].map(([, name]) => name);
  expect(names).toEqual(rows.map(({ cells }) => cells[0]));
  return resultOf(folder, job.output);
}

/** Kills the job at these moments, lets it finish, and asserts what no crash may change. */
export async function killed(job: Job, expected: unknown, moments: readonly Moment[], latencyMs: number): Promise<Chain> {
  const { folder, service, args } = await prepare(job);
  service.latencyMs = latencyMs;
  const chain = await killThrough(folder, service, args, job.output, moments);
  expect(await resultOf(folder, job.output)).toEqual(expected);
  expect(chain.paidTwice).toEqual([]);
  expect(chain.late).toEqual([]);
  expect(chain.repeated).toBeLessThanOrEqual(chain.bound);
  expectSameRequests(service);
  expect((await folder.files()).filter((name) => /\.partial|\.lock|\.tmp$/.test(name))).toEqual([]);
  return chain;
}

/** Whoever asks a lookup again sends the same body with the same Idempotency-Key. */
export function expectSameRequests(service: ScriptedService): void {
  const first = new Map<string, string>();
  const different: string[] = [];
  for (const { path, keys, body, idempotencyKey } of service.requests) {
    const request = `${path} ${idempotencyKey} ${body}`;
    expect(idempotencyKey).toMatch(/./);
    for (const key of keys) {
      const before = first.get(`${path} ${key}`);
      if (before === undefined) first.set(`${path} ${key}`, request);
      else if (before !== request) different.push(`${path} ${key}`);
    }
  }
  expect(different).toEqual([]);
}

/** Everything that a crash may not change. */
async function resultOf(folder: Folder, output: string): Promise<unknown> {
  const bytes = await readFile(folder.at(output));
  const { records, verification, output: file, lookups, exitCode } = await folder.json(`${output}.report.json`);
  const errors = (await folder.read(`${output}.errors.jsonl`)).trimEnd().split('\n').map((line) => ({ ...(JSON.parse(line) as object), requestId: null }));
  return { bytes: bytes.toString('base64'), records, verification, file, lookups, exitCode, errors };
}

/** The output as text, member by member (node:zlib reads the first zstd frame only). */
async function textOf(folder: Folder, output: string): Promise<string> {
  const path = folder.at(output);
  const compression = output.endsWith('.gz') ? 'gzip' : output.endsWith('.zst') ? 'zstd' : 'none';
  const parts: Buffer[] = [];
  for await (const { bytes } of readPieces({ uri: output, path, size: (await stat(path)).size, compression }, { offset: 0, frame: compression === 'none' ? null : { at: 0, offset: 0 } }, { chunkBytes: 65_536 })) parts.push(bytes);
  return Buffer.concat(parts).toString();
}
