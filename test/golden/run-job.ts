/** Runs a golden job in a folder of its own against the golden services. */
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { commandHere, type Outcome } from '../support/command-here.ts';
import type { Folder } from '../support/cli.ts';
import { API_KEY } from '../support/scripted-service.ts';
import { makeFolder } from '../support/world.ts';
import { GOLDEN } from './golden-file.ts';
import type { GoldenJob } from './jobs.ts';
import { Vendors, type Sent } from './vendors.ts';

/** The variables with the API key of every provider of the golden jobs. */
export const KEYS: Readonly<Record<string, string>> = Object.fromEntries(
  ['MILLRACE', 'MILLRACE_DATA', 'MILLRACE_BATCH', 'MILLRACE_LATE'].map((name) => [`${name}_API_KEY`, API_KEY]),
);

export const INPUTS = [
  'people.csv',
  'paid.csv',
  'verify.csv',
  'late.csv',
  'halved.csv',
  'slow.csv',
  'usual.csv',
  'batch.yaml',
  'late.yaml',
  'late-batch.yaml',
] as const;

export const outputOf = ({ format = 'csv' }: Pick<GoldenJob, 'format'>): string => `out.${format}`;

export interface GoldenWorld {
  readonly folder: Folder;
  readonly vendors: Vendors;
  /** Runs a command in this process. */
  readonly run: (...args: readonly string[]) => Promise<Outcome>;
}

/** A folder with the inputs, and the services. */
export async function makeGoldenWorld(): Promise<GoldenWorld> {
  const [folder, vendors] = await Promise.all([makeFolder(), Vendors.start()]);
  for (const name of INPUTS) await copyFile(join(GOLDEN, 'input', name), folder.at(name));
  const run = (...args: readonly string[]): Promise<Outcome> =>
    commandHere(args, { cwd: folder.path, stdin: '', env: { ...KEYS, ...vendors.env } });
  return { folder, vendors, run };
}

/** Writes `NAME.yaml` (JSON is YAML). */
export async function writeGoldenJob(folder: Folder, job: GoldenJob, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const usual = { name: job.name, input: { uri: job.input }, output: { uri: outputOf(job) }, limits: { maxErrors: '100%' } };
  await writeFile(folder.at(`${job.name}.yaml`), JSON.stringify({ ...usual, ...job.job, ...more }));
}

export const runArgs = (job: GoldenJob): readonly string[] => ['run', `${job.name}.yaml`, '--progress', 'none'];

/** One request a line, sorted: retries come in any order. */
export function transcript(sent: readonly Sent[]): string {
  return sent
    .map((one) => `${JSON.stringify(one)}\n`)
    .toSorted()
    .join('');
}

/** The latest answer to each lookup of a ledger, a line each, with its scope. Times are left out. */
export function answersIn(path: string): string {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = db
    .prepare(
      `SELECT s.origin, s.step, s.options, a.key, a.kind, a.body FROM answers a JOIN scopes s ON s.id = a.scope
       WHERE a.id IN (SELECT max(id) FROM answers GROUP BY scope, key) ORDER BY s.origin, s.step, s.options, a.key`,
    )
    .all();
  db.close();
  return rows.map((row) => `${JSON.stringify(Object.values(row))}\n`).join('');
}
