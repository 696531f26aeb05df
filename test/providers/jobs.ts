/** Jobs that name their providers: small definitions beside this file, stand-ins of the vendors, and the command. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkpoint } from '../../src/checkpoint/checkpoint-file.ts';
import { keyVariable } from '../../src/definition/job-provider.ts';
import type { Ended, Folder } from '../support/cli.ts';
import { cleanUp } from '../support/clean-up.ts';
import { API_KEY } from '../support/scripted-service.ts';
import type { StandIn, StandInOptions } from './stand-ins/stand-in.ts';
import { personOf } from './stand-ins/world.ts';

/** The small definitions by their names. */
export const definition = (name: string): string => join(import.meta.dirname, 'definitions', `${name}.yaml`);

/** The settings of a provider in a job. */
export type ProviderSettings = Readonly<Record<string, unknown>>;

/** Starts a vendor that takes the key of `keys`, without limits unless the options state some, until the test ends. */
export async function start<O extends StandInOptions>(how: (options: O) => Promise<StandIn>, options: Partial<O> = {}): Promise<StandIn> {
  const standIn = await how({ windows: [], apiKey: API_KEY, ...options } as unknown as O);
  cleanUp(() => standIn.close());
  return standIn;
}

/** The variables with a key for each of these providers. */
export function keys(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [keyVariable(name), API_KEY]));
}

export interface ProviderJob {
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  readonly steps: readonly (string | Readonly<Record<string, unknown>>)[];
  readonly [key: string]: unknown;
}

/** Writes `job.yaml` (JSON is YAML): from `in.csv` to `out.csv`, with checkpoints every 50 ms. */
export async function writeJob(folder: Folder, job: ProviderJob): Promise<void> {
  const usual = { input: { uri: 'in.csv' }, output: { uri: 'out.csv' }, checkpoint: { everyMs: 50 }, limits: { maxErrors: '100%' } };
  await writeFile(folder.at('job.yaml'), JSON.stringify({ ...usual, ...job }));
}

/** Writes `in.csv` with the addresses of these people. */
export function writePeople(folder: Folder, count: number, from = 0): Promise<void> {
  const lines = Array.from({ length: count }, (_, i) => personOf(from + i).email);
  return writeFile(folder.at('in.csv'), `email\n${lines.join('\n')}\n`);
}

export const RUN = ['run', 'job.yaml', '--progress', 'none'] as const;

/** Runs the job in this process, with keys for the providers that it names. */
export function run(folder: Folder, job: ProviderJob, more: readonly string[] = []): Promise<Ended> {
  return folder.run([...RUN, ...more], { env: keys(...Object.keys(job.providers)) });
}

/** The checkpoint of the job. */
export async function checkpoint(folder: Folder, output = 'out.csv'): Promise<Checkpoint> {
  return (await folder.json(`${output}.checkpoint.json`)) as unknown as Checkpoint;
}

/** The lines of the output, each by the names of its columns. No value has a comma. */
export async function rowsOf(folder: Folder, output = 'out.csv'): Promise<Record<string, string>[]> {
  const [head = '', ...lines] = (await folder.read(output)).trimEnd().split(/\r?\n/);
  const names = head.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']));
  });
}
