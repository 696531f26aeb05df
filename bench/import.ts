/**
 * Rows a second of `millrace import`, for companies and contacts: new, repeated (only the time changes), and as a table. Then rich rows,
 * which have every field of a contact and of its company: rows a CPU second, and the largest size of the write-ahead log. It ends with 1
 * when these miss their bars.
 * `npx node bench/import.ts [contacts] [rich rows]` after `npm run build`.
 */
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { largeSet } from '../fixtures/generate/large.ts';
import { machine, runToEnd } from './support/processes.ts';
import { richContacts } from './support/rich-contacts.ts';

const contacts = Number(process.argv[2] ?? 200_000);
const richRows = Number(process.argv[3] ?? 100_000);
const cli = fileURLToPath(new URL('../dist/cli/millrace.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const at = (name: string): string => join(folder, name);
/** The bars for rich rows: rows a CPU second, and MiB of the log, which is checkpointed after a transaction that brings it over 256. */
const [LEAST_A_CPU_SECOND, MOST_LOG_MIB] = [8_000, 512];
const COLUMNS = [
  'email',
  'first_name',
  'last_name',
  'title',
  'department',
  'seniority',
  'mobile',
  'linkedin_url',
  'company_domain',
  'updated_at',
];

async function write(name: string, lines: Iterable<string>): Promise<void> {
  await pipeline(Readable.from(lines), createWriteStream(at(name)));
}

function* jsonLines(records: Iterable<object>): Generator<string> {
  for (const record of records) yield `${JSON.stringify(record)}\n`;
}

function* table(records: Iterable<Readonly<Record<string, unknown>>>): Generator<string> {
  yield `${COLUMNS.join(',')}\n`;
  for (const record of records) yield `${COLUMNS.map((column) => (typeof record[column] === 'string' ? record[column] : '')).join(',')}\n`;
}

/** Runs an import, and watches the size of its write-ahead log. */
async function runImport(store: string, kind: string, file: string): Promise<Awaited<ReturnType<typeof runToEnd>> & { logMiB: number }> {
  let logBytes = 0;
  const timer = setInterval(() => {
    logBytes = Math.max(logBytes, statSync(`${at(store)}-wal`, { throwIfNoEntry: false })?.size ?? 0);
  }, 50);
  try {
    const run = await runToEnd([process.execPath, cli, 'import', '--store', at(store), `--${kind}`, at(file)]);
    if (run.code !== 0) throw new Error(run.stderr);
    return { ...run, logMiB: logBytes / 2 ** 20 };
  } finally {
    clearInterval(timer);
  }
}

try {
  const set = largeSet(contacts);
  await write('companies.jsonl', jsonLines(set.companies()));
  await write('contacts.jsonl', jsonLines(set.contacts()));
  await write('contacts.csv', table(set.contacts()));
  process.stdout.write(
    `${contacts.toLocaleString('en-US')} contacts at ${set.companyCount.toLocaleString('en-US')} companies; ${machine()}\n\n` +
      '| | rows | seconds | rows a second | peak MiB |\n|---|---:|---:|---:|---:|\n',
  );
  for (const [what, store, kind, file, rows] of [
    ['companies, new', 'a', 'companies', 'companies.jsonl', set.companyCount],
    ['contacts, new', 'a', 'contacts', 'contacts.jsonl', contacts],
    ['contacts, again', 'a', 'contacts', 'contacts.jsonl', contacts],
    ['contacts of a table, new', 'b', 'contacts', 'contacts.csv', contacts],
    ['contacts of a table, over whole records', 'a', 'contacts', 'contacts.csv', contacts],
  ] as const) {
    const { seconds, peakMiB } = await runImport(`${store}.sqlite`, kind, file);
    process.stdout.write(
      `| ${what} | ${rows.toLocaleString('en-US')} | ${seconds.toFixed(1)} | ` +
        `${Math.round(rows / seconds).toLocaleString('en-US')} | ${Math.round(peakMiB)} |\n`,
    );
  }
  process.stdout.write('\n| | rows | seconds | CPU seconds | rows a CPU second | log MiB |\n|---|---:|---:|---:|---:|---:|\n');
  await write('rich.jsonl', jsonLines(richContacts(largeSet(richRows))));
  for (const what of ['rich rows, new', 'rich rows, again']) {
    const { seconds, cpuSeconds, logMiB } = await runImport('rich.sqlite', 'contacts', 'rich.jsonl');
    process.stdout.write(
      `| ${what} | ${richRows.toLocaleString('en-US')} | ${seconds.toFixed(1)} | ${cpuSeconds.toFixed(1)} | ` +
        `${Math.round(richRows / cpuSeconds).toLocaleString('en-US')} | ${Math.round(logMiB)} |\n`,
    );
    if ((what === 'rich rows, new' && richRows / cpuSeconds < LEAST_A_CPU_SECOND) || logMiB > MOST_LOG_MIB) process.exitCode = 1;
  }
  process.stdout.write(`\nThe store has ${Math.round(statSync(at('a.sqlite')).size / contacts)} bytes a contact, its company included.\n`);
} finally {
  rmSync(folder, { recursive: true });
}
