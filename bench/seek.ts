/**
 * Time from the start of a resume late in a large file to its first request, and the bytes read until then.
 * `node bench/seek.ts [rows] [rows passed before] [answers in the ledger]`
 * All rows before that position are `invalid` (they have no key), so that the run gets there in minutes. It is killed there with SIGKILL,
 * with all its rows in the partial output and their lines in the partial errors file.
 */
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { createGzip, gzipSync, zstdCompressSync } from 'node:zlib';
import { pipeline } from 'node:stream/promises';
import { Ledger } from '../src/ledger/ledger.ts';
import { scattered } from './support/leads.ts';
import { bytesRead, cpuSeconds, machine, runUntilStopped } from './support/processes.ts';

const rows = Number(process.argv[2] ?? 10_000_000);
const passed = Number(process.argv[3] ?? rows * 0.99);
const answers = Number(process.argv[4] ?? 5_000_000);
const CHUNK_ROWS = 20_000;
const RESUMES = 5;
const here = import.meta.dirname;

type Pack = (text: string) => Buffer;
const plain: Pack = (text) => Buffer.from(text);
const FORMATS: readonly { readonly name: string; readonly file: string; readonly pack: Pack; readonly ledger?: number }[] = [
  { name: 'plain CSV', file: 'leads.csv', pack: plain },
  { name: 'plain CSV, large ledger', file: 'leads.csv', pack: plain, ledger: answers },
  { name: 'plain JSONL', file: 'leads.jsonl', pack: plain },
  { name: 'gzip, members', file: 'members.csv.gz', pack: (text) => gzipSync(text, { level: 1 }) },
  { name: 'zstd, frames', file: 'frames.csv.zst', pack: zstdCompressSync },
  { name: 'gzip, one member', file: 'one.csv.gz', pack: plain },
];

function* chunks(jsonl: boolean): Generator<string> {
  if (!jsonl) yield 'First Name,Work Email,Company\n';
  for (let from = 0; from < rows; from += CHUNK_ROWS) {
    let text = '';
    for (let i = from; i < Math.min(rows, from + CHUNK_ROWS); i++) {
      const email = i < passed ? '' : `person${i}@works${i % 500}.example`;
      text += jsonl
        ? `{"name":"Ada${i % 97}","email":"${email}","company":"Works ${i % 500}"}\n`
        : `Ada${i % 97},${email},Works ${i % 500}\n`;
    }
    yield text;
  }
}

async function write(path: string, pack: Pack): Promise<void> {
  function* packed(): Generator<Buffer> {
    for (const text of chunks(path.endsWith('.jsonl'))) yield pack(text);
  }
  if (path.endsWith('one.csv.gz')) await pipeline(packed, createGzip({ level: 1 }), createWriteStream(path));
  else await pipeline(packed, createWriteStream(path));
}

function fillLedger(path: string, count: number): void {
  const ledger = Ledger.open({ path, job: 'out', run: 'before', maxAgeDays: 0, now: Date.now });
  const scope = ledger.scope('http://elsewhere.example', 'enrich', 'by email');
  const answer = {
    kind: 'hit',
    text: JSON.stringify({ name: 'Ada Example', title: 'Engineer', company: { name: 'Example Works', employees: 120 } }),
  } as const;
  for (let i = 0; i < count; i++) ledger.put([{ scope, key: `${scattered(i)}@works${i % 500}.example`, answer }]);
  ledger.close();
}

/** Rows written at the latest checkpoint, or 0. */
function written(checkpoint: string): number {
  try {
    return (JSON.parse(readFileSync(checkpoint, 'utf8')) as { mark: { tally: { total: number } } }).mark.tally.total;
  } catch {
    return 0;
  }
}

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
let onRequest: () => void = () => undefined;
// Accepts requests and answers none, so that no run gets beyond the position.
const server = createServer(() => onRequest()).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
try {
  process.stdout.write(
    `${rows.toLocaleString('en-US')} rows, killed at row ${passed.toLocaleString('en-US')}, median of ${RESUMES} resumes; ${machine()}\n\n`,
  );
  process.stdout.write(
    '| input | MB of it | MB of rows and error lines so far | answers in the ledger | ms to the first request | CPU ms until then | ' +
      'MB read until then |\n|---|---:|---:|---:|---:|---:|---:|\n',
  );
  for (const { name, file, pack, ledger = 0 } of FORMATS) {
    const input = join(folder, file);
    const output = join(folder, 'out.csv');
    await write(input, pack);
    if (ledger > 0) fillLedger(`${output}.ledger`, ledger);
    const command = [
      process.execPath,
      join(here, '../dist/cli/millrace.js'),
      'run',
      '--input',
      input,
      '--output',
      output,
      '--steps',
      'enrich',
      '--base-url',
      url,
      '--plan',
      'enterprise',
      '--progress',
      'none',
      '--timeout-ms',
      '600000',
    ];
    const first = runUntilStopped(command, { MILLRACE_API_KEY: 'bench' });
    while (written(`${output}.checkpoint.json`) < passed) await after(500);
    await first.kill();
    const [times, cpu, reads]: [number[], number[], number[]] = [[], [], []];
    for (let resume = 0; resume < RESUMES; resume++) {
      const asked = new Promise<void>((resolve) => {
        onRequest = resolve;
      });
      const started = performance.now();
      const again = runUntilStopped(command, { MILLRACE_API_KEY: 'bench' });
      await asked;
      times.push(performance.now() - started);
      cpu.push(cpuSeconds(again.pid) * 1_000);
      reads.push(bytesRead(again.pid));
      await again.kill();
      server.closeAllConnections();
    }
    const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);
    const partial = statSync(`${output}.partial`).size + statSync(`${output}.errors.jsonl.partial`).size;
    process.stdout.write(
      `| ${name} | ${megabytes(statSync(input).size)} | ${megabytes(partial)} | ` +
        `${ledger.toLocaleString('en-US')} | ${Math.round(median(times)).toLocaleString('en-US')}` +
        ` | ${Math.round(median(cpu)).toLocaleString('en-US')} | ${megabytes(median(reads))} |\n`,
    );
    for (const path of [
      input,
      ...['.partial', '.errors.jsonl.partial', '.checkpoint.json', '.checkpoint.json.lock', '.ledger', '.ledger-wal', '.ledger-shm'].map(
        (suffix) => `${output}${suffix}`,
      ),
    ])
      rmSync(path, { force: true });
  }
} finally {
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true });
}
