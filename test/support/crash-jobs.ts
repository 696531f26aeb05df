/**
 * The jobs that test/crash and bench/crash.ts kill: every format of input and output, several files, duplicates over files, and a faulty
 * service.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { readPieces } from '../../src/formats/compression/chunks.ts';
import { readParquetRows } from '../../src/formats/parquet/parquet-rows.ts';
import type { Folder } from './cli.ts';
import { PROFILE_COLUMNS, toCsv, toJsonl, withProfiles, type Lead } from './leads.ts';
import { sectionsOf } from './report-page.ts';
import type { ScriptedService } from './scripted-service.ts';
import { STEPS } from '../../src/steps/registry.ts';

export interface Job {
  readonly files: Readonly<Record<string, string | Buffer>>;
  readonly flags: Readonly<Record<string, string>>;
  readonly output: string;
}

export const EVERY_MS = 50;

/** The arguments of the command for a job. */
export function argsOf(job: Job, service: ScriptedService): string[] {
  const flags = {
    plan: 'enterprise',
    progress: 'none',
    'checkpoint.everyMs': String(EVERY_MS),
    'max-errors': '100%',
    output: job.output,
    ...job.flags,
    'base-url': service.url,
  };
  return ['run', ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value])];
}

export async function writeInput(job: Job, folder: Folder): Promise<void> {
  for (const [name, content] of Object.entries(job.files)) {
    await mkdir(dirname(folder.at(name)), { recursive: true });
    await writeFile(folder.at(name), content);
  }
}

/** The result that a crash may not change. */
export async function resultOf(
  folder: Folder,
  { output }: Job,
): Promise<{ readonly bytes: string; readonly errors: unknown; readonly numbers: unknown }> {
  const bytes = await readFile(folder.at(output));
  const { records, verification, output: file, lookups, exitCode } = await folder.json(`${output}.report.json`);
  const errors = (await folder.read(`${output}.errors.jsonl`))
    .trimEnd()
    .split('\n')
    .map((line) => ({ ...(JSON.parse(line) as object), requestId: null, attempts: null }));
  const { Outcomes, Verdicts, Errors } = sectionsOf(await folder.read(`${output}.report.html`));
  return {
    bytes: bytes.toString('base64'),
    errors,
    numbers: { records, verification, file, lookups, exitCode, page: [Outcomes, Verdicts, Errors] },
  };
}

/** The names of the output's records, in order. No two leads share a name. */
export async function namesIn(folder: Folder, { output }: Job): Promise<string[]> {
  const path = folder.at(output);
  if (output.endsWith('.parquet')) return firstColumn(path);
  const compression = output.endsWith('.gz') ? 'gzip' : output.endsWith('.zst') ? 'zstd' : 'none';
  const parts: Buffer[] = [];
  // Decompressed member by member, because node:zlib reads only the first zstd frame.
  for await (const { bytes } of readPieces(
    { uri: output, path, digest: '', size: (await stat(path)).size, compression },
    { offset: 0, frame: compression === 'none' ? null : { at: 0, offset: 0 } },
    { chunkBytes: 65_536 },
  ))
    parts.push(bytes);
  return [
    ...Buffer.concat(parts)
      .toString()
      .matchAll(/^(?:\{"input":\{"[Nn]ame":")?((?:Näme|Again) \d+)/gm),
  ].map(([, name]) => name ?? '');
}

async function firstColumn(path: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { columns } of readParquetRows({ uri: path, path, size: (await stat(path)).size, digest: '' }, 0))
    names.push(...(columns[0] ?? []).map(String));
  return names;
}

export function csvJob(rows: readonly Lead[], more: Readonly<Record<string, string>> = {}): Job {
  return { files: { 'in.csv': toCsv(rows) }, flags: { input: 'in.csv', ...more }, output: 'out.csv' };
}

/** One kind of job, of any size. */
export interface Shape {
  readonly name: string;
  /** Rows in a test and in a bench. A compressed output that is resumed in the middle needs several members of 5,000 rows. */
  readonly rows: { readonly short: number; readonly long: number };
  readonly faults: boolean;
  readonly job: (rows: readonly Lead[]) => Job;
}

type Written = (rows: readonly Lead[]) => string | Buffer;
const csv: Written = (rows) => toCsv(rows);
const csvWithProfiles: Written = (rows) => toCsv(withProfiles(rows), PROFILE_COLUMNS);
const tsv: Written = (rows) => toCsv(rows, undefined, '\t');
const jsonl: Written = (rows) => toJsonl(rows);
/** Three members, at each of which a resume may start. */
const inMembers =
  (write: Written, compress: (bytes: Buffer) => Buffer): Written =>
  (rows) => {
    const bytes = Buffer.from(write(rows));
    const cut = [0, Math.floor(bytes.length / 3), Math.floor((2 * bytes.length) / 3), bytes.length];
    return Buffer.concat([0, 1, 2].map((i) => compress(bytes.subarray(cut[i], cut[i + 1]))));
  };
const gz = (write: Written): Written => inMembers(write, gzipSync);
const zst = (write: Written): Written => inMembers(write, zstdCompressSync);
const single =
  (write: Written): Written =>
  (rows) =>
    gzipSync(write(rows));

/** Rows go into the files in turn, so duplicates lie in two files. */
const shape = (
  output: string,
  input: string,
  files: Readonly<Record<string, Written>>,
  more: Readonly<Record<string, string>> = {},
  faults = false,
): Shape => ({
  name:
    `${Object.keys(files).join(' + ')} to ${output.slice(4)}` +
    (more['steps'] === undefined ? '' : more['steps'].includes(',') ? ', all steps' : `, ${more['steps']} alone`) +
    (faults ? ', failing service' : ''),
  rows:
    more['steps']?.includes(',') !== false
      ? { short: 500, long: 2_000 }
      : more['steps'] === 'verify'
        ? { short: 6_000, long: 16_000 }
        : { short: 1_200, long: 12_000 },
  faults,
  job: (rows) => {
    const parts = Object.entries(files);
    return {
      files: Object.fromEntries(
        parts.map(([name, write], i) => [
          name,
          write(rows.slice(Math.floor((rows.length * i) / parts.length), Math.floor((rows.length * (i + 1)) / parts.length))),
        ]),
      ),
      flags: { input, ...more },
      output,
    };
  },
});

/** Few concurrent calls and many intervals make the permitted repeats few. */
const FEW = { concurrency: '8' };

export const SHAPES: readonly Shape[] = [
  shape('out.csv', 'in.csv', { 'in.csv': csv }, FEW),
  shape('out.csv', 'in*.csv*', { 'in-1.csv': csv, 'in-2.csv.gz': gz(csv), 'in-3.csv.zst': zst(csv) }, FEW, true),
  shape('out.tsv', 'in', { 'in/1.tsv.gz': gz(tsv), 'in/2.tsv': tsv }, FEW),
  shape('out.jsonl', 'in.jsonl.zst', { 'in.jsonl.zst': zst(jsonl) }, FEW),
  shape('out.jsonl', 'in', { 'in/a.jsonl': jsonl, 'in/b.jsonl.gz': gz(jsonl) }, FEW, true),
  shape('out.csv', 'in.csv', { 'in.csv': csvWithProfiles }, { ...FEW, steps: STEPS.join(',') }, true),
  shape('out.csv.gz', 'in-*.csv', { 'in-1.csv': csv, 'in-2.csv': csv }, { steps: 'enrich' }),
  shape('out.csv.zst', 'in.csv.gz', { 'in.csv.gz': single(csv) }, { steps: 'verify' }),
  shape('out.tsv.gz', 'in', { 'in/1.csv.gz': gz(csv), 'in/2.csv.zst': zst(csv) }, { steps: 'enrich' }),
  shape('out.tsv.zst', 'in.tsv.zst', { 'in.tsv.zst': zst(tsv) }, { steps: 'enrich' }),
  shape('out.jsonl.gz', 'in.csv', { 'in.csv': csv }, { steps: 'enrich' }),
  shape('out.jsonl.zst', 'in', { 'in/1.jsonl': jsonl, 'in/2.jsonl': jsonl }, { steps: 'verify' }),
];

/** One request in seven fails the first time: cut connection, 500, 503, sometimes 429. Every lookup succeeds in the end. */
export function fail(service: ScriptedService): void {
  service.script = (asked, response, reply, usual) => {
    const kind =
      createHash('sha256')
        .update(asked.body === '' ? asked.keys.join() : asked.body)
        .digest()
        .readUInt16BE(0) % 50;
    const first = service.asked.get(`${asked.path} ${asked.keys[0] ?? ''}`) === 1;
    if (!first || kind > 7) reply(usual());
    else if (kind < 3) response.socket?.destroy();
    else if (kind < 7) reply({ status: kind < 5 ? 500 : 503, body: '{}' });
    else reply({ status: 429, body: '{}', headers: { 'retry-after': '0' } });
  };
}
