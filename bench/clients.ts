/**
 * The cost of the client libraries: `node bench/clients.ts [--of FOLDER] [language ...]`. FOLDER is another checkout of this repository.
 * Time and memory of a batch from a CSV of 24 MB with one stray quote, connections of 1,000 calls, and lines that are written by hand.
 * Then the size and the import time of the two Node packages; `millrace` needs `npm run build`.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import type { LANGUAGES as Languages } from '../clients/conformance/languages.ts';
import type { Language } from '../clients/conformance/runner.ts';
import type { Report, Task } from '../clients/conformance/scenario.ts';
import { machine } from './support/processes.ts';

const { values, positionals } = parseArgs({ options: { of: { type: 'string' } }, allowPositionals: true });
const ROOT = resolve(values.of ?? join(import.meta.dirname, '..'));
const CSV_BYTES = 24_000_000;
const LONGEST_MS = 300_000;
const MIB = 1024 * 1024;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Takes batches, and answers each other call after 20 ms. */
class Sink {
  url = '';
  connections = 0;
  parts: number[] = [];
  /** Milliseconds between the first and the last request. */
  readonly span = { from: 0, to: 0 };

  static async start(): Promise<Sink> {
    const sink = new Sink();
    const server = createServer((request, response) => {
      sink.span.from ||= performance.now();
      let size = 0;
      request.on('data', (piece: Buffer) => (size += piece.length));
      request.on('end', () => {
        if (request.method === 'PUT') sink.parts.push(size);
        const answer = (): void => {
          sink.span.to = performance.now();
          response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"bat_1","name":"Acme","state":"open","format":"csv"}');
        };
        if (request.url?.startsWith('/v1/companies/') === true) void sleep(20).then(answer);
        else answer();
      });
    });
    server.on('connection', () => sink.connections++);
    server.listen(0, '127.0.0.1').unref();
    await once(server, 'listening');
    sink.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return sink;
  }
}

/** Null when the runner knows no such call, fails, or does not end in time. */
async function run({ name, runner }: Language, variant: string, sink: Sink, step: Task['steps'][number]): Promise<Report | null> {
  const task: Task = { name: 'one', variant, alone: true, base_url: sink.url, api_key: 'mr_key', options: { timeout: 60 }, steps: [step] };
  const { command, args, cwd, env = {} } = runner;
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: 'pipe', timeout: LONGEST_MS });
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify({ scenarios: [task] }));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const report = stdout === '' ? null : (JSON.parse(stdout.split('\n')[0] ?? '') as Report);
  const { error = null } = (report?.outcomes[0] ?? { error: stderr.trim().slice(-200) }) as { readonly error?: unknown };
  if (error === null) return report;
  process.stderr.write(`${name}, ${variant}, ${step.call}: ${JSON.stringify(error)}\n`);
  return null;
}

async function rowOf(language: Language, variant: string, file: string): Promise<string[]> {
  const upload = await Sink.start();
  const report = await run(language, variant, upload, { call: 'batches.create', args: { operation: 'enrich', file } });
  const calls = await Sink.start();
  const many = await run(language, variant, calls, {
    call: 'at_once',
    args: { call: 'company', args: { domain: 'a.example' }, count: 100 },
    repeat: 10,
  });
  const seconds = (upload.span.to - upload.span.from) / 1000;
  const upload3 =
    report === null
      ? ['refused', '', '']
      : [seconds.toFixed(1), (Math.max(...upload.parts) / MIB).toFixed(1), Math.round(report.memory_mib ?? NaN).toString()];
  return [...upload3, many === null ? '' : calls.connections.toString()];
}

/** The sources of a library that no generator wrote, and that are no tests. */
function linesByHand(language: string): number {
  const folder = language === 'node' ? 'src/client/library' : `clients/${language}`;
  const isSource = (path: string): boolean => !/_test\.go$|\/(?:test|build|dist)\/|conformance/.test(path.slice(ROOT.length));
  const texts = globSync(join(ROOT, `${folder}/**/*.{py,go,rb,php,ts}`))
    .filter(isSource)
    .map((path) => readFileSync(path, 'utf8'));
  return texts.filter((one) => !/enerated by/.test(one.slice(0, 400))).reduce((sum, one) => sum + one.split('\n').length - 1, 0);
}

interface NodePackage {
  readonly name: string;
  readonly folder: string;
  readonly main: string;
}

/** Size without and with its dependencies, and the time that an import adds to the start of Node (median of 11). */
async function packageRow({ name, folder, main }: NodePackage): Promise<string> {
  const npm = async (...args: readonly string[]): Promise<string> =>
    (await promisify(execFile)('npm', args, { cwd: folder, maxBuffer: 64 * MIB })).stdout;
  const [packed] = JSON.parse(await npm('pack', '--dry-run', '--json', '--ignore-scripts')) as [{ readonly unpackedSize: number }];
  const paths = (await npm('ls', '--all', '--omit=dev', '--parseable')).trim().split('\n').slice(1);
  const own = paths.map((path) =>
    globSync('**', { cwd: path, exclude: (one) => one === 'node_modules' }).map((one) => statSync(join(path, one))),
  );
  const bytes = own.flat().reduce((sum, one) => sum + (one.isFile() ? one.size : 0), packed.unpackedSize);
  const startMs = (code: string): number => {
    const times = Array.from({ length: 11 }, () => {
      const from = performance.now();
      spawnSync(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
      return performance.now() - from;
    });
    return times.sort((a, b) => a - b)[5] ?? NaN;
  };
  const ms = startMs(`import ${JSON.stringify(join(folder, main))}`) - startMs('');
  return `| ${name} | ${Math.round(packed.unpackedSize / 1000)} | ${(bytes / 1e6).toFixed(2)} | ${paths.length} | ${Math.round(ms)} |`;
}

/** 24 MB whose first row has a quote that opens nothing. */
async function writeCsv(path: string): Promise<void> {
  const row = `jerome.noel@tundra-logistics.example,${'x'.repeat(60)}\n`;
  await writeFile(path, `email,note\nana@acme.example,19" rack\n${row.repeat(Math.ceil(CSV_BYTES / row.length))}`);
}

const { LANGUAGES } = (await import(pathToFileURL(join(ROOT, 'clients/conformance/languages.ts')).href)) as {
  readonly LANGUAGES: typeof Languages;
};
const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
try {
  const file = join(folder, 'stray.csv');
  await writeCsv(file);
  print(`${machine()}\n`);
  print('| library | seconds | largest part, MiB | memory, MiB | connections | lines by hand |\n|---|---:|---:|---:|---:|---:|');
  for (const { name, prepare } of LANGUAGES.filter((one) => positionals.length === 0 || positionals.includes(one.name))) {
    const language = await prepare();
    if (typeof language === 'string') print(`| ${name} | ${language} |`);
    else
      for (const variant of language.variants) {
        const row = [`${name}, ${variant}`, ...(await rowOf(language, variant, file)), linesByHand(name).toString()];
        print(`| ${row.join(' | ')} |`);
      }
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
if (positionals.length === 0 || positionals.includes('node')) {
  print('\n| package | its own kB | with dependencies, MB | dependencies | import, ms |\n|---|---:|---:|---:|---:|');
  const packages = [
    { name: '@millrace/client', folder: join(ROOT, 'clients/node'), main: 'dist/index.js' },
    { name: 'millrace', folder: ROOT, main: 'dist/index.js' },
  ];
  for (const one of packages.filter(({ folder: at, main }) => existsSync(join(at, main)))) print(await packageRow(one));
}
