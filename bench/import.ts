/**
 * Rows a second of `millrace import`, for companies and contacts: new, repeated (only the time changes), and as a table.
 * `npx node bench/import.ts [contacts]` after `npm run build`.
 */
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { largeSet } from '../fixtures/generate/large.ts';
import { machine, runToEnd } from './support/processes.ts';

const contacts = Number(process.argv[2] ?? 200_000);
const cli = fileURLToPath(new URL('../dist/cli/millrace.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const at = (name: string): string => join(folder, name);
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
    const { code, seconds, peakMiB, stderr } = await runToEnd([
      process.execPath,
      cli,
      'import',
      '--store',
      at(`${store}.sqlite`),
      `--${kind}`,
      at(file),
    ]);
    if (code !== 0) throw new Error(stderr);
    process.stdout.write(
      `| ${what} | ${rows.toLocaleString('en-US')} | ${seconds.toFixed(1)} | ` +
        `${Math.round(rows / seconds).toLocaleString('en-US')} | ${Math.round(peakMiB)} |\n`,
    );
  }
  process.stdout.write(`\nThe store has ${Math.round(statSync(at('a.sqlite')).size / contacts)} bytes a contact, its company included.\n`);
} finally {
  rmSync(folder, { recursive: true });
}
