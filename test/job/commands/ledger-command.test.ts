import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { parseAge } from '../../../src/job/commands/age.ts';
import { ledgerPurgeCommand, ledgerStatsCommand } from '../../../src/job/commands/ledger-command.ts';
import { Ledger } from '../../../src/ledger/ledger.ts';

let folder: string;
let said: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-'));
  said = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

it('ledger stats prints a table, and ledger purge prints the number of removed answers', async () => {
  const path = join(folder, 'l');
  const place = { kind: 'file', path } as const;
  const at = Date.now() - 3 * 86_400_000;
  const open = (job: string, now: number): Ledger => Ledger.open({ path, job, run: job, maxAgeDays: 1, now: () => now });
  const old = open('a', at);
  const scope = old.scope('https://api.example', 'enrich', 'by email');
  old.put([
    { scope, key: 'ada@works.example', answer: { kind: 'hit', text: '{}' } },
    { scope, key: 'bo@works.example', answer: { kind: 'miss' } },
  ]);
  old.close();
  const young = open('b', at + 2.5 * 86_400_000);
  const verify = young.scope('https://api.example', 'verify', '');
  young.put([
    { scope: verify, key: 'ada@works.example', answer: { kind: 'unsettled', text: '{}' } },
    { scope: verify, key: 'cy@works.example', answer: { kind: 'hit', text: '{}' } },
  ]);
  young.close();
  await ledgerStatsCommand({ place, maxAgeDays: 0, copy: null }, { json: false });
  expect(said.split('\n')).toEqual([
    expect.stringMatching(/^ledger    .*, [\d,]+ bytes$/),
    `answers   4, of 2 runs of 2 jobs; the oldest of ${new Date(at).toISOString()}, the newest of ` +
      new Date(at + 2.5 * 86_400_000).toISOString(),
    'reusable  3, each by later runs of its own job',
    '',
    'service              step             answers  match  miss  suppressed  unknown  failed  reusable',
    'https://api.example  enrich by email        2      1     1           0        0       0         2',
    'https://api.example  verify                 2      1     0           0        1       0         1',
    '',
  ]);
  said = '';
  await ledgerStatsCommand({ place, maxAgeDays: 2, copy: null }, { json: false });
  expect(said).toContain('reusable  1, by any job, up to an age of 2 days');
  said = '';
  await ledgerPurgeCommand({ place, maxAgeDays: 0, copy: null }, { email: 'ada@works.example', before: null }, { json: false });
  expect(said).toMatch(/^2 answers purged \(enrich 1, verify 1\) from .*: [\d,]+ bytes before, [\d,]+ now\n$/);
  said = '';
  await ledgerPurgeCommand({ place, maxAgeDays: 0, copy: null }, { email: null, before: Date.now() }, { json: false });
  await ledgerStatsCommand({ place, maxAgeDays: 0, copy: null }, { json: false });
  expect(said).toMatch(/answers {3}0, of 2 runs of 2 jobs\nreusable {2}0/);
});

it('--older-than takes hours, days and weeks', () => {
  expect(['12h', '90d', '2w', '0d'].map((text) => parseAge('older-than', text))).toEqual([43_200_000, 7_776_000_000, 1_209_600_000, 0]);
  for (const text of ['90', 'd', '1.5d', '90D', '1m', '36501d', '1y', ' 1d', ''])
    expect(() => parseAge('older-than', text)).toThrow(/such as 12h, 90d or 8w/);
});
